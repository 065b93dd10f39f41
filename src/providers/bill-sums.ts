import type { BillTotal } from './bill.ts'

const MONEY = /^(-?)(\d{1,10})(?:\.(\d{1,5}))?$/

/** An amount of a bill's column in 1/100,000 yuan, as fees have five decimals. Undefined: it is none. */
export function e5OfYuan(text: string): number | undefined {
  const [, sign, yuan, decimals = ''] = MONEY.exec(text) ?? []
  if (yuan === undefined) return undefined
  const e5 = Number(yuan) * 100_000 + Number(decimals.padEnd(5, '0'))
  return sign === '' ? e5 : -e5
}

/** As yuan, with two decimals at least. */
export function yuanOfE5(e5: bigint): string {
  const digits = String(e5 < 0n ? -e5 : e5).padStart(6, '0')
  const decimals = digits.slice(-5).replace(/0{1,3}$/, '')
  return `${e5 < 0n ? '-' : ''}${digits.slice(0, -5)}.${decimals}`
}

/** What a provider's own sum may be off by: fees are rounded on the way. In 1/100,000 yuan, itself not allowed. */
const ROUNDING_E5 = 1_000n

/**
 * The totals that the rows do not come to. A row whose cells could not be told apart may be what a count or a sum lacks.
 */
export const wrongTotals = (totals: readonly BillTotal[], unsure: number): readonly BillTotal[] =>
  totals.filter(({ title, kind, stated, found }) => {
    const lacking = stated - found
    if (kind === 'count') return lacking < 0n || lacking > BigInt(unsure) * 100_000n
    if (unsure > 0) return stated < 0n ? lacking > 0n || lacking < stated : lacking < 0n || lacking > stated
    const slack = title.includes('手续费') ? ROUNDING_E5 : 1n
    return lacking >= slack || -lacking >= slack
  })

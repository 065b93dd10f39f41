import { createHash } from 'node:crypto'
import { chinaTimeMs, inBeijing } from '../providers/china-time.ts'
import type { PlannedRefund } from './planned.ts'
import type { PaymentProvider } from './stories.ts'
import type { KnownTransaction, Truth } from './truth.ts'

/** What a bill can say otherwise than its provider does when it is asked. */
export const BILL_DIFFERENCES = [
  /** It lacks a row. */
  'left_out',
  /** It has one more, of what nobody paid. */
  'unknown',
  /** A fen more. */
  'amount',
  'twice',
] as const
export type BillDifference = (typeof BILL_DIFFERENCES)[number]

export interface BillDifferenceOptions {
  readonly shares: Readonly<Partial<Record<BillDifference, number>>>
  readonly seed: number
  /** WeChat Pay's digest is that of another file. */
  readonly isOtherFile?: boolean
}

/** A row: a payment, or a refund of one. */
export interface BillEntry {
  readonly transaction: KnownTransaction
  readonly refund: PlannedRefund | null
}

const DAY_MS = 86_400_000
/** From about ten in the morning on. */
const READY_MS = DAY_MS + 10 * 3_600_000

/**
 * The rows of a day's bill, in the order of their times. Undefined: there is no such day, or its bill is not made yet.
 * @param day China's, as `2026-11-11`
 */
export function billEntries(
  day: string,
  {
    provider,
    merchant,
    truth,
    now,
    differences,
  }: {
    readonly provider: PaymentProvider
    readonly merchant: string
    readonly truth: Truth
    readonly now: Date
    readonly differences: BillDifferenceOptions | undefined
  },
): BillEntry[] | undefined {
  const startMs = /^\d{4}-\d\d-\d\d$/.test(day) ? chinaTimeMs(`${day} 00:00:00`) : undefined
  if (startMs === undefined || now.getTime() < startMs + READY_MS) return undefined
  const isOfDay = ({ atMs }: { readonly atMs: number }) => inBeijing(truth.dateOf(atMs)).startsWith(day)
  const entries = truth
    .paid(provider, merchant)
    .flatMap((transaction): BillEntry[] => [
      ...(isOfDay(transaction) ? [{ transaction, refund: null }] : []),
      ...transaction.refunds.filter(isOfDay).map((refund) => ({ transaction, refund })),
    ])
  const atMsOf = ({ transaction, refund }: BillEntry) => (refund ?? transaction).atMs
  return entries.flatMap((entry) => altered(entry, differences)).sort((a, b) => atMsOf(a) - atMsOf(b))
}

function altered(entry: BillEntry, differences: BillDifferenceOptions | undefined): BillEntry[] {
  const { transaction, refund } = entry
  switch (differenceOf(entry, differences)) {
    case 'left_out':
      return []
    case 'unknown':
      return [entry, { transaction: { ...transaction, ...unknown(transaction), refunds: [] }, refund: null }]
    case 'amount': {
      const more = <T extends { readonly amountMinor: number }>(one: T) => ({
        ...one,
        amountMinor: one.amountMinor + 1,
      })
      return [refund === null ? { ...entry, transaction: more(transaction) } : { ...entry, refund: more(refund) }]
    }
    case 'twice':
      return [entry, entry]
    case undefined:
      return [entry]
  }
}

const unknown = ({ outTradeNo, transactionId }: KnownTransaction) => ({
  ...{ outTradeNo: `${outTradeNo}X`, transactionId: `${transactionId}9` },
})

/** It follows from the seed and the row, so that a bill that is fetched again is the same. */
export function differenceOf(
  { transaction, refund }: BillEntry,
  options: BillDifferenceOptions | undefined,
): BillDifference | undefined {
  if (options === undefined) return undefined
  const { shares, seed } = options
  const name = `${seed}\nbill\n${transaction.transactionId}\n${refund?.refundId ?? ''}`
  const drawn = createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32
  let upTo = 0
  return BILL_DIFFERENCES.find((one) => drawn < (upTo += shares[one] ?? 0))
}

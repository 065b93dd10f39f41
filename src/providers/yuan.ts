/** At most 13 digits of yuan, so that the fen stay below 2^53. No sign, exponent, separator or third decimal. */
const YUAN = /^(0|[1-9]\d{0,12})(?:\.(\d{1,2}))?$/

/**
 * Fen of an amount in yuan, as Alipay and WeChat Pay's bills write it: `20`, `20.5`, `20.50`. In integers only, as 19.90 * 100 is 1989.99….
 * @returns undefined if the text is no such amount
 */
export function fenOfYuan(text: string): number | undefined {
  const [, yuan, decimals = ''] = YUAN.exec(text) ?? []
  return yuan === undefined ? undefined : Number(yuan) * 100 + Number(decimals.padEnd(2, '0'))
}

/** As both write it: always two decimals. */
export function yuanOfFen(fen: number): string {
  const digits = String(fen).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

import { isTimeMs } from './limits.ts'

const OFFSET_MS = 8 * 3_600_000
const WITH_ZONE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/
const WITHOUT_ZONE = /^(\d{4})-?(\d\d)-?(\d\d)[ T]?(\d\d):?(\d\d):?(\d\d)(?:\.(\d{1,3}))?$/

/**
 * Milliseconds since 1970 of a time as WeChat Pay and Alipay write it: RFC 3339, or Beijing's without a zone
 * (`2023-12-21 16:26:43`, `20180225112233`). Undefined if it is none that
 * can be kept: a time is never a reason to refuse a payment.
 */
export function chinaTimeMs(text: unknown): number | undefined {
  if (typeof text !== 'string' || text.length > 40) return undefined
  if (WITH_ZONE.test(text)) return real(Date.parse(text))
  const [, year, month, day, hour, minute, second, fraction = '0'] = WITHOUT_ZONE.exec(text) ?? []
  if (second === undefined) return undefined
  return real(Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}Z`) - OFFSET_MS)
}

/** Beijing's time without a zone, as `2026-01-02T03:04:05.006`: what it was then and there. */
export const inBeijing = (at: Date): string => new Date(at.getTime() + OFFSET_MS).toISOString().slice(0, -1)

const real = (ms: number) => (isTimeMs(ms) ? ms : undefined)

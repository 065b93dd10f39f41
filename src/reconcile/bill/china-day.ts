import { chinaTimeMs, inBeijing } from '../../providers/china-time.ts'
import { dayAfter } from '../../runtime/days.ts'

export const DAY_MS = 86_400_000

/** A payment of 23:59:59 may stand in either day's bill: clocks and books close minutes apart. */
export const EDGE_MS = 600_000

/** When a day begins in China. @param day `2026-11-11` @throws RangeError if there is no such day */
export function chinaDayStart(day: string): number {
  const startMs = chinaTimeMs(`${day} 00:00:00`)
  if (startMs === undefined || chinaDayOf(startMs) !== day) throw new RangeError(`${day} is no day`)
  return startMs
}

export const chinaDayOf = (atMs: number): string => inBeijing(new Date(atMs)).slice(0, 10)

/**
 * The days in whose bills a fact may stand, the first first.
 * @param backDays how many days earlier, as a refund stands in the bill of the day when it was asked for
 */
export function daysOfFact(atMs: number, backDays: number): string[] {
  const last = chinaDayOf(atMs + EDGE_MS)
  const days: string[] = []
  for (let day = chinaDayOf(atMs - backDays * DAY_MS - EDGE_MS); day <= last; day = dayAfter(day, 1)) days.push(day)
  return days
}

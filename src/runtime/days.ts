const DAY_MS = 86_400_000

/** A UTC day as `2026-11-30`; text compares as days do. */
export const dayOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10)
export const dayAfter = (day: string, days: number): string => dayOf(Date.parse(day) + days * DAY_MS)
export const startOf = (day: string): number => Date.parse(day)

/** The first day of a day's month, `months` later. */
export function monthOf(day: string, months = 0): string {
  const at = new Date(Date.parse(day))
  return dayOf(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1))
}

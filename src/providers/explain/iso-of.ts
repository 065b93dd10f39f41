/** As in logs; null for what is no time, as the end of a key that has none. */
export const isoOf = (ms: number): string | null => {
  const at = new Date(ms)
  return Number.isNaN(at.getTime()) ? null : at.toISOString()
}

import { countsAsFlood, FLOOD_MAX, FLOOD_WINDOW, type DeadLetter } from '../store/dead-letter.ts'

/**
 * Where a batch must be cut so that the lane stops at a flood instead of burying a thousand records that may be sound:
 * after the dead letter that makes it one.
 * @param before offsets of the lane's earlier dead letters
 * @param letters the batch's new ones, in order
 * @returns the offset after that letter; undefined: no flood
 */
export function findFlood(before: readonly number[], letters: readonly DeadLetter[]): number | undefined {
  const seen = [...before]
  for (const letter of letters) {
    if (!countsAsFlood(letter)) continue
    const { offset } = letter
    seen.push(offset)
    const recent = seen.filter((other) => other > offset - FLOOD_WINDOW)
    if (recent.length > FLOOD_MAX) return offset + 1
  }
  return undefined
}

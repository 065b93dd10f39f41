import { expect, test } from 'vitest'
import type { Sample } from '../../chaos/checker/capture.ts'
import { slopesPerMin } from '../../chaos/checker/slope.ts'

const MIB = 1_048_576
/** A process from a time on, sampled every 2 s. */
const life = (fromMs: number, seconds: number, bytesAt: (atMs: number) => number): Sample[] =>
  Array.from({ length: seconds / 2 }, (_, index) => {
    const atMs = fromMs + index * 2_000
    return { name: 'processor-2', pid: 12_263, what: 'rss_bytes', value: bytesAt(atMs - fromMs), atMs }
  })

test('memory that rises by 60 MiB a minute is seen, whenever the process was born', () => {
  const slopes = slopesPerMin(life(5_000_000, 240, (ms) => 100 * MIB + ms * MIB * 0.001))
  expect(Math.round((slopes.get('processor-2 (12263)') ?? 0) / MIB)).toBe(60)
})

test('two processes that had one pid, one after the other, are two lives and no slope', () => {
  // As in a run of 20 minutes: 36 s of one, and minutes later another.
  const first = life(0, 36, (ms) => 70 * MIB + Math.min(ms, 4_000) * 0.02 * MIB)
  const second = life(640_000, 40, (ms) => 110 * MIB + Math.min(ms, 4_000) * 0.005 * MIB)
  expect(slopesPerMin([...first, ...second])).toEqual(new Map())
})

test('two long ones that had one pid are judged each by itself', () => {
  const flat = life(0, 240, () => 150 * MIB)
  const rising = life(600_000, 240, (ms) => 100 * MIB + ms * MIB * 0.001)
  expect(Math.round((slopesPerMin([...flat, ...rising]).get('processor-2 (12263)') ?? 0) / MIB)).toBe(60)
})

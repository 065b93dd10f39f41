import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runInParts, type Part, type PartOutcome } from '../../src/processor/bisect.ts'

interface Item {
  readonly offset: number
  readonly isPoison: boolean
  readonly isBuried: boolean
}
const bury = (item: Item): Item => ({ ...item, isBuried: true })
/** Offsets 10, 12, 14…: a log has gaps. */
const batchOf = (poison: readonly boolean[]): Part<Item> => ({
  records: poison.map((isPoison, index) => ({ offset: 10 + 2 * index, isPoison, isBuried: false })),
  end: 10 + 2 * poison.length + 3,
})
/** A store that keeps what went through and checks that it stays a prefix. */
function store(next: number) {
  const done: Item[] = []
  let applied = next
  const run = ({ records, end }: Part<Item>): Promise<PartOutcome> => {
    if (records.some((item) => item.isPoison && !item.isBuried))
      return Promise.resolve({ kind: 'guilty', detail: 'bad' })
    const first = records[0]?.offset ?? applied
    expect(first).toBeGreaterThanOrEqual(applied)
    expect(end).toBeGreaterThan(records.at(-1)?.offset ?? -1)
    applied = end
    done.push(...records)
    return Promise.resolve({ kind: 'done' })
  }
  return { done, run, applied: () => applied }
}

test('exactly the poisoned records are buried, in order, and the whole batch is applied', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 40 }), async (poison) => {
      const batch = batchOf(poison)
      const { done, run, applied } = store(10)
      expect(await runInParts(batch, run, bury)).toEqual({ kind: 'done' })
      expect(done).toEqual(batch.records.map((item) => ({ ...item, isBuried: item.isPoison })))
      expect(applied()).toBe(batch.end)
    }),
  ))

test('one poisoned record among 1,000 costs about 2 × log2(1,000) transactions, not 1,000', async () => {
  const { run } = store(10)
  let runs = 0
  const counted = (part: Part<Item>) => (runs++, run(part))
  await runInParts(batchOf(Array.from({ length: 1_000 }, (_, index) => index === 700)), counted, bury)
  expect(runs).toBeLessThanOrEqual(22)
})

test('a buried record that fails again is given up, and nothing after it runs', async () => {
  const seen: number[] = []
  const run = ({ records }: Part<Item>): Promise<PartOutcome> => {
    const isBad = records.some((item) => item.isPoison)
    if (!isBad) seen.push(...records.map((item) => item.offset))
    return Promise.resolve(isBad ? { kind: 'guilty', detail: 'still bad' } : { kind: 'done' })
  }
  expect(await runInParts(batchOf([false, true, false]), run, bury)).toEqual({ kind: 'guilty', detail: 'still bad' })
  expect(seen).toEqual([10])
})

test('stopping in the middle leaves the rest alone', async () => {
  let runs = 0
  const run = (): Promise<PartOutcome> => {
    runs++
    return Promise.resolve(runs === 1 ? { kind: 'guilty', detail: 'bad' } : { kind: 'stopped', why: 'interrupted' })
  }
  expect(await runInParts(batchOf([false, true, false, false]), run, bury)).toEqual({
    kind: 'stopped',
    why: 'interrupted',
  })
  expect(runs).toBe(2)
})

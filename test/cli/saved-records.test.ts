import { mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { mergeByTime } from '../../src/cli/merge-by-time.ts'
import { readRecords, writeRecords, type SavedRecord } from '../../src/cli/saved-records.ts'

let folder: string
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'paidonce-saved-'))))

async function* of<T>(...values: readonly T[]): AsyncGenerator<T> {
  await Promise.resolve()
  yield* values
}
async function all<T>(from: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const value of from) found.push(value)
  return found
}
const record = (offset: number, over: Partial<SavedRecord> = {}): SavedRecord => ({
  ...{ partition: 2, offset, timestampMs: 1_700_000_000_000 + offset, key: Buffer.from(`k${offset}`) },
  ...{
    value: Buffer.from([0, 255, 10, 13]),
    headers: { traceparent: Buffer.from('00-\n-ff'), raw: Buffer.from([128]) },
  },
  ...over,
})

test('records come back as they were, byte for byte; nobody else can read the file', async () => {
  const path = join(folder, 'kept.jsonl')
  const records = [
    ...Array.from({ length: 1_200 }, (_, n) => record(n)),
    record(1_200, { key: null, value: null, headers: {} }),
  ]
  await writeRecords(path, of(...records))
  expect(await all(readRecords(path))).toEqual(records)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).toEqual(['kept.jsonl'])
})

test('a file that is there is not written over', async () => {
  const path = join(folder, 'kept.jsonl')
  await writeFile(path, 'mine')
  await expect(writeRecords(path, of(record(1)))).rejects.toThrow('cannot be made')
  expect(await readFile(path, 'utf8')).toBe('mine')
})

test('a part of the records is never left as the whole', async () => {
  const failing = (async function* () {
    yield* of(record(1))
    throw new Error('the broker is away')
  })()
  await expect(writeRecords(join(folder, 'kept.jsonl'), failing)).rejects.toThrow('away')
  expect(await readdir(folder)).toEqual([])
})

test.each([
  '{',
  '7',
  '{"partition":1}',
  '{"partition":1,"offset":2,"timestampMs":"x","key":null,"value":null,"headers":{}}',
])('a line that was not saved is named: %s', async (line) => {
  const path = join(folder, 'kept.jsonl')
  await writeRecords(path, of(record(1)))
  await writeFile(path, `${await readFile(path, 'utf8')}${line}\n`)
  await expect(all(readRecords(path))).rejects.toThrow('line 2 is no saved record')
})

test('partitions are put together by time, and each keeps its own order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(fc.nat(50), { maxLength: 20 }), { maxLength: 4 }), async (lists) => {
      const sources = lists.map((times, source) => times.map((timestampMs, index) => ({ timestampMs, source, index })))
      const merged = await all(mergeByTime(sources.map((source) => of(...source))))
      expect(merged).toHaveLength(lists.flat().length)
      for (const [source, values] of sources.entries())
        expect(merged.filter((value) => value.source === source)).toEqual(values)
      if (lists.every((times) => times.every((time, index) => time >= (times[index - 1] ?? 0))))
        expect(merged.map(({ timestampMs }) => timestampMs)).toEqual(lists.flat().sort((a, b) => a - b))
    }),
  )
})

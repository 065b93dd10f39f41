import { expect, test } from 'vitest'
import { otherInput, readInputMark } from '../../src/schemas/input-mark.ts'
import { readMarks, writeMarks } from '../../src/schemas/output-marks.ts'
import { OUTPUT_TOPICS } from '../../src/schemas/topics.ts'

const ID = 'GTlQ_4d9Tb-mRhNHzsHmuQ'
const outputs = new Map(OUTPUT_TOPICS.map((topic) => [topic, { id: ID, end: 2 ** 53 - 1 }]))

test.each([
  { id: ID, log: '' },
  { id: '', log: '' },
  { id: ID, log: `${ID}.12` },
])('a mark is read as it was written, beside those of the outputs, and fits into an offset’s metadata: %o', (mark) => {
  const metadata = writeMarks(outputs, mark)
  expect([readInputMark(metadata), readMarks(metadata)]).toEqual([mark, outputs])
  expect(Buffer.byteLength(metadata)).toBeLessThan(600) // The broker takes 4,096.
})

test.each([
  ...[undefined, '', '17', 'null', '[]', '{', '{"input":7}', '{"input":["id"]}', '{"input":["id",7]}'],
  writeMarks(outputs),
])('what an older version, or a tool, has set says nothing: %s', (metadata) => {
  expect(readInputMark(metadata)).toBeUndefined()
  expect(otherInput(readInputMark(metadata), { id: ID, log: '' })).toBeUndefined()
})

test('another topic, and another log of Postgres, are told apart', () => {
  const mark = { id: ID, log: '' }
  expect(otherInput(mark, { id: ID, log: '' })).toBeUndefined()
  expect(otherInput(mark, { id: '', log: '' })).toBeUndefined()
  expect(otherInput({ id: '', log: '' }, { id: ID, log: '' })).toBeUndefined()
  expect(otherInput(mark, { id: 'b', log: '' })).toBe(`the input topic had the id ${ID}, and has b`)
  expect(otherInput({ id: ID, log: ID }, mark)).toBe(
    `the lane has read the log ${ID}, and Postgres has applied the first log`,
  )
})

import { describe, expect, test } from 'vitest'
import { adoptIds, madeAnew, marksAfter, OutputMoved, readMarks, writeMarks } from '../../src/schemas/output-marks.ts'
import { OUTPUT_TOPICS, POINTS_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'

const marks = new Map([
  [SHIPMENT_TOPIC, { id: 'GTlQ_4d9Tb-mRhNHzsHmuQ', end: 12 }],
  [POINTS_TOPIC, { id: '', end: 0 }],
])

test('marks are read as they were written, and fit into an offset’s metadata', () => {
  expect(readMarks(writeMarks(marks))).toEqual(marks)
  const all = new Map(OUTPUT_TOPICS.map((topic) => [topic, { id: 'GTlQ_4d9Tb-mRhNHzsHmuQ', end: 2 ** 53 - 1 }]))
  expect(readMarks(writeMarks(all))).toEqual(all)
  expect(Buffer.byteLength(writeMarks(all))).toBeLessThan(500) // The broker takes 4,096.
})

test.each([
  ...[undefined, '', '17', 'null', '[]', '{', '{"outputs":7}', '{"outputs":null}'],
  `{"outputs":{"${SHIPMENT_TOPIC}":["id"],"${POINTS_TOPIC}":["id","7"],"unknown":["id",7]}}`,
])('what an older version, or a tool, has set says nothing: %s', (metadata) =>
  expect(readMarks(metadata)).toEqual(new Map()),
)

describe('an id', () => {
  const now = (shipment: string, points = 'p') =>
    new Map([
      [SHIPMENT_TOPIC, shipment],
      [POINTS_TOPIC, points],
    ])
  test('that is another one was made anew', () => {
    expect(madeAnew(marks, now('other'))).toEqual([
      `${SHIPMENT_TOPIC} had the id GTlQ_4d9Tb-mRhNHzsHmuQ, and has other`,
    ])
  })
  test.each([
    ['is the same', marks, now('GTlQ_4d9Tb-mRhNHzsHmuQ')],
    ['was not known', new Map(), now('other')],
    ['is none any more, as in an older cluster', marks, now('', '')],
  ])('that %s says nothing', (_, known, ids) => expect(madeAnew(known, ids)).toEqual([]))
  test('is learnt where there was none, and never forgotten', () => {
    expect(adoptIds(marks, now('other'))).toEqual(
      new Map([
        [SHIPMENT_TOPIC, { id: 'GTlQ_4d9Tb-mRhNHzsHmuQ', end: 12 }],
        [POINTS_TOPIC, { id: 'p', end: 0 }],
      ]),
    )
  })
})

describe('an event', () => {
  const at = (baseOffset: number, count = 2) => ({ topic: SHIPMENT_TOPIC, baseOffset, count })
  test.each([
    ['lies behind the last one', [at(12)], 14],
    ['lies behind control records', [at(17)], 19],
    ['lies behind another call of the same transaction', [at(12), at(14, 3)], 17],
    ['was sent twice, and the broker does not say where it lies', [at(-1)], 12],
  ])('that %s', (_, sent, end) => expect(marksAfter(marks, sent).get(SHIPMENT_TOPIC)?.end).toBe(end))
  test.each([
    ['lies where another one lay', [at(0)]],
    ['lies just below', [at(11)]],
    ['lies below another call of the same transaction', [at(12), at(13)]],
  ])('that %s is not where the lane left the topic', (_, sent) =>
    expect(() => marksAfter(marks, sent)).toThrow(OutputMoved),
  )
})

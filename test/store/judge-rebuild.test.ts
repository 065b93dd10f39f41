import { expect, test } from 'vitest'
import { isTrueOf, judgeRebuild, lackingIn, type RebuildReading, type Tail } from '../../src/store/judge-rebuild.ts'

/** Seven events were emitted: number 6 to `ship`, 5 to `deduct`, 2 to `notice`. */
const SHIP: Tail = { topic: 'ship', start: 0, end: 9, last: 6, held: 3 }
const DEDUCT: Tail = { topic: 'deduct', start: 0, end: 9, last: 5, held: 4 }
const NOTICE: Tail = { topic: 'notice', start: 0, end: 4, last: 2, held: 2 }
const NEVER: Tail = { topic: 'dlq', start: 0, end: 0, last: undefined, held: undefined }
const EMPTIED: Tail = { topic: 'dlq', start: 3, end: 3, last: undefined, held: undefined }
const RECREATED: Tail = { topic: 'dlq', start: 0, end: 0, last: undefined, held: 1 }
const RECREATED_AND_WRITTEN: Tail = { ...SHIP, last: 2 }

const judge = (tails: readonly Tail[], more: Partial<RebuildReading> = {}) =>
  judgeRebuild({
    row: { nextSeq: 9, settledSeq: 5 },
    ledger: undefined,
    tails,
    isVouched: false,
    topicOf: () => Promise.resolve('ship'),
    ...more,
  })
const ledger = (value: number) => ({ kind: 'ledger', ledger: value })
const unproven = (atLeast: number, ...topics: string[]) => ({ kind: 'unproven', atLeast, topics })

test('the ledger is 1 + the highest number that is committed, or what is settled', async () => {
  expect(await judge([SHIP, DEDUCT, NOTICE, NEVER])).toEqual(ledger(7))
  expect(await judge([SHIP, DEDUCT, NOTICE], { row: { nextSeq: 9, settledSeq: 8 } })).toEqual(ledger(8))
  expect(await judge([NEVER], { row: { nextSeq: 0, settledSeq: 0 } })).toEqual(ledger(0))
})

test('a ledger with its mark was true once; one without says nothing', async () => {
  const marked = { ledger: { offset: 8, metadata: '8' } }
  expect(await judge([SHIP], marked)).toEqual(ledger(8))
  expect(await judge([SHIP], { ledger: { offset: 8, metadata: '' } })).toEqual(ledger(7))
  expect(await judge([SHIP], { ledger: { offset: 2, metadata: '2' } })).toEqual(ledger(7))
})

test.each([
  ['emptied by retention', EMPTIED],
  ['made anew', RECREATED],
])('a topic that was %s leaves it unproven', async (_, tail) => {
  expect(await judge([SHIP, tail])).toEqual(unproven(7, 'dlq'))
})

test('a topic that was made anew and written since leaves it unproven too', async () => {
  expect(await judge([RECREATED_AND_WRITTEN, DEDUCT])).toEqual(unproven(6, 'ship'))
})

test('a marked ledger above the counter needs no topic', async () => {
  const row = { nextSeq: 9, settledSeq: 5 }
  expect(await judge([SHIP, EMPTIED], { row, ledger: { offset: 12, metadata: '12' } })).toEqual(ledger(12))
  expect(await judge([SHIP, EMPTIED], { row, ledger: { offset: 8, metadata: '8' } })).toEqual(unproven(8, 'dlq'))
})

test('whoever vouches that Postgres was never set back: what is out ends where a whole topic lacks the next event', async () => {
  const isVouched = true
  expect(await judge([SHIP, EMPTIED], { isVouched })).toEqual(ledger(7))
  // The next event would stand in the very topic that lost its end.
  const topicOf = () => Promise.resolve('dlq')
  expect(await judge([SHIP, EMPTIED], { isVouched, topicOf })).toEqual(unproven(7, 'dlq'))
  expect(await judge([SHIP, EMPTIED], { isVouched, topicOf: () => Promise.resolve(undefined) })).toEqual(
    unproven(7, 'dlq'),
  )
  expect(await judge([SHIP, EMPTIED], { isVouched, row: { nextSeq: 7, settledSeq: 5 } })).toEqual(ledger(7))
  // The topics say that it was set back.
  expect(await judge([SHIP, EMPTIED], { isVouched, row: { nextSeq: 6, settledSeq: 5 } })).toEqual(unproven(7, 'dlq'))
})

test('what a topic has lost is what is out and above its last event; retention has taken nothing of it', () => {
  const held = new Map([
    ['ship', 6],
    ['dlq', 1],
  ])
  expect(lackingIn([SHIP, DEDUCT, NOTICE, NEVER], new Map([['ship', 6]]))).toEqual([])
  expect(lackingIn([SHIP, RECREATED], held)).toEqual([{ topic: 'dlq', after: -1 }])
  expect(lackingIn([RECREATED_AND_WRITTEN, EMPTIED], held)).toEqual([{ topic: 'ship', after: 2 }])
})

test('a lane that was halted for its topics’ sake has its ledger, unless something else speaks against it', () => {
  const halted = { reason: 'output_made_anew', detail: '', atMs: 0 }
  const row = { nextSeq: 9, settledSeq: 5, halted }
  for (const offset of [5, 7, 9]) expect(isTrueOf(row, { offset, metadata: String(offset) })).toBe(true)
  for (const offset of [4, 10]) expect(isTrueOf(row, { offset, metadata: String(offset) })).toBe(false)
  expect(isTrueOf(row, { offset: 7, metadata: '' })).toBe(false)
  expect(isTrueOf(row, undefined)).toBe(false)
  const other = { ...halted, reason: 'ledger_missing' }
  expect(isTrueOf({ ...row, halted: other }, { offset: 7, metadata: '7' })).toBe(false)
})

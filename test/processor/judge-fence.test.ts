import { describe, expect, test } from 'vitest'
import { judgeFence, type FenceReading } from '../../src/processor/judge-fence.ts'
import { HALT_REASONS, REMEDIES } from '../../src/store/halt.ts'

const row = { startOffset: 0, nextSeq: 30, appliedOffset: 100, settledSeq: 20, halted: undefined }
const fresh = { startOffset: 7, nextSeq: 0, appliedOffset: 7, settledSeq: 0, halted: undefined }

const seven = { row: fresh, log: { start: 7, end: 120 } }
const ledger = (offset: number, metadata = String(offset)) => ({ offset, metadata })
const reading = (over: Partial<FenceReading> = {}): FenceReading => ({
  groupOffset: 100,
  ledger: ledger(30),
  row,
  log: { start: 0, end: 120 },
  input: undefined,
  inputId: 'a',
  outputs: new Map(),
  outputIds: new Map(),
  ...over,
})

describe('where a lane goes on', () => {
  test.each([
    ['after a clean stop', reading(), 100, 30],
    ['when events of its last batch are not emitted yet', reading({ groupOffset: 60, ledger: ledger(25) }), 60, 25],
    ['after a reset to earliest', reading({ groupOffset: 0 }), 0, 30],
    ['after a reset to latest: Postgres says what it has', reading({ groupOffset: 120 }), 100, 30],
    ['when its group offset is gone but its ledger is not', reading({ groupOffset: undefined }), 0, 30],
    ['when retention passed the group offset', reading({ groupOffset: 5, log: { start: 50, end: 120 } }), 50, 30],
    ['at the very edge of the log', reading({ log: { start: 100, end: 100 } }), 100, 30],
    ['with a ledger that equals settled_seq', reading({ ledger: ledger(20) }), 100, 20],
    [
      'when it stood in a skipped range, behind which the fence has moved applied_offset',
      reading({ groupOffset: 92, row: { ...row, skips: [{ from: 90, to: 100 }] } }),
      ...[100, 30],
    ],
    ['before a skipped range', reading({ groupOffset: 89, row: { ...row, skips: [{ from: 90, to: 100 }] } }), 89, 30],
    ['never above what is applied', reading({ row: { ...row, skips: [{ from: 99, to: 110 }] } }), 100, 30],
    ['fresh, with its ledger written', reading({ row: fresh, groupOffset: 7, ledger: ledger(0) }), 7, 0],
    ['in the log that it has read', reading({ input: { id: 'a', log: '' } }), 100, 30],
    ['in one begun anew', reading({ row: { ...row, logId: 'a' }, input: { id: 'a', log: 'a' } }), 100, 30],
    ['begun anew by an older version', reading({ row: { ...row, logId: 'a' } }), 100, 30],
    ['where the cluster tells no ids', reading({ inputId: '', input: { id: 'a', log: '' } }), 100, 30],
    ['where it told none before', reading({ input: { id: '', log: '' } }), 100, 30],
  ])('%s', (_, given, next, at) => expect(judgeFence(given)).toEqual({ kind: 'start', next, ledger: at }))

  test.each([
    ['nothing is committed anywhere', reading({ ...seven, groupOffset: undefined, ledger: undefined })],
    ['somebody committed a group offset before', reading({ ...seven, groupOffset: 90, ledger: undefined })],
    ['somebody set a ledger without its mark', reading({ row: fresh, groupOffset: 7, ledger: ledger(3, '') })],
  ])('a fresh lane makes its ledger first: %s', (_, given) =>
    expect(judgeFence(given)).toEqual({ kind: 'fresh', next: 7, ledger: 0 }),
  )
})

describe('what halts a lane', () => {
  test.each([
    ['ledger_above_counter', reading({ ledger: ledger(31) })],
    ['ledger_above_counter', reading({ row: fresh, groupOffset: 7, ledger: ledger(1) })],
    ['ledger_below_settled', reading({ ledger: ledger(19) })],
    ['ledger_missing', reading({ ledger: undefined })],
    ['ledger_without_mark', reading({ ledger: ledger(30, '') })],
    ['ledger_without_mark', reading({ ledger: ledger(30, '29') })],
    ['offsets_missing', reading({ ledger: undefined, groupOffset: undefined })],
    // Applied, but nothing emitted yet: not fresh, as applied_offset has moved.
    ['offsets_missing', reading({ row: { ...fresh, appliedOffset: 8 }, ledger: undefined, groupOffset: undefined })],
    ['output_made_anew', reading({ outputs: new Map([['t', { id: 'a', end: 9 }]]), outputIds: new Map([['t', 'b']]) })],
    // Its offset was committed after the topic was made anew, by an owner that had not seen it.
    ['input_made_anew', reading({ input: { id: 'b', log: '' } })],
    ['input_made_anew', reading({ input: { id: 'b', log: '' }, log: { start: 101, end: 120 } })],
    // All fits by chance, and Postgres was set back to before the topic was made anew.
    ['input_made_anew', reading({ input: { id: 'a', log: 'a' } })],
    ['input_made_anew', reading({ row: { ...row, logId: 'a' }, input: { id: 'a', log: 'a.2' }, ledger: ledger(31) })],
    ['input_made_anew', reading({ input: { id: 'a', log: 'a' }, ledger: undefined })],
    ['applied_above_log', reading({ log: { start: 0, end: 99 } })],
    ['log_trimmed', reading({ log: { start: 101, end: 120 } })],
    ['log_trimmed', reading({ row: fresh, log: { start: 8, end: 120 }, ledger: undefined })],
  ] as const)('%s', (reason, given) => expect(judgeFence(given)).toMatchObject({ kind: 'halt', reason }))

  test('a halted lane stays halted with its reason, whatever else is read', () =>
    expect(judgeFence(reading({ row: { ...row, halted: { reason: 'flood', detail: '21 of 1000' } } }))).toEqual({
      kind: 'still_halted',
      reason: 'flood',
      detail: '21 of 1000',
    }))

  test('every reason has a remedy that ends with what to run, for that lane', () => {
    for (const reason of HALT_REASONS) expect(REMEDIES[reason](3)).toMatch(/paidonce lane (?:resume|rebuild) 3 /)
  })

  test('a ledger set by hand to what is settled passes for sound: no remedy says to set one', () => {
    // What is out is only told by the ledger: 20 to 29 would go out once more.
    expect(judgeFence(reading({ ledger: ledger(20) })).kind).toBe('start')
    for (const reason of ['ledger_below_settled', 'ledger_missing', 'ledger_without_mark'] as const) {
      expect(REMEDIES[reason](3)).toMatch(/Never set it by hand.*: paidonce lane rebuild 3 --reason '…'$/)
      expect(REMEDIES[reason](3)).not.toMatch(/restore|settled_seq|resume/)
    }
  })
})

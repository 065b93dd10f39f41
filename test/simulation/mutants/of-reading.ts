import type { Mutant } from './mutant.ts'

const FENCE = 'src/processor/fence.ts'
const JUDGE = 'src/processor/judge-fence.ts'

const READ_LEDGER = 'readLedger(producer, offsets, { ...options, lane })'
/** What was committed last, as a coordinator says it that may be behind. */
const READ_AT_ONCE = 'offsets.committed(`${appId}.ledger`, topic, lane)'
const READ_OFFSETS = `await Promise.all([
      readLedger(producer, offsets, { ...options, lane }),
      readTopics(lane, options),
    ])`
const FENCE_PRODUCER = '  const producer = await options.fenceProducer(transactionalId(appId, lane))\n'

/** Wrong designs of what a fence reads: the ledger, the offsets, the log. */
export const READING_MUTANTS: readonly Mutant[] = [
  {
    name: 'offsets read before the fence',
    why: 'the old owner commits between the reading and the fence: its events go out twice',
    changes: [
      {
        file: FENCE,
        find: FENCE_PRODUCER,
        replace: `  const early = ${READ_OFFSETS.replace(READ_LEDGER, READ_AT_ONCE)}\n${FENCE_PRODUCER}`,
      },
      {
        file: FENCE,
        find: `[ledger, rest] = ${READ_OFFSETS}`,
        replace: '[ledger, rest] = early',
      },
    ],
  },
  {
    name: 'ledger read without a witness',
    why: 'a coordinator that has just taken over answers with an older one: the last events go out twice',
    faults: ['coordinator_moved'],
    changes: [{ file: FENCE, find: READ_LEDGER, replace: READ_AT_ONCE }],
  },
  {
    name: 'ledger ignored',
    why: 'settled_seq is one batch behind: the last batch goes out twice',
    changes: [{ file: JUDGE, find: `next, ledger: ledger.offset }`, replace: `next, ledger: row.settledSeq }` }],
  },
  {
    name: 'ledger taken without its mark',
    why: 'a tool has set it: events go out twice, or never',
    faults: ['ledger_reset', 'rebalance'],
    changes: [
      {
        file: JUDGE,
        find: 'if (ledger.metadata !== ledgerMark(ledger.offset)) {',
        replace: 'if (ledger.offset < 0) {',
      },
    ],
  },
  {
    name: 'ledger read before the row, and halted without a proof',
    why: 'two fences that overlap halt a lane with which nothing is wrong',
    changes: [
      { file: FENCE, find: `    const [ledger, rest] = ${READ_OFFSETS}\n`, replace: '' },
      {
        file: FENCE,
        find: '    const { start: startOffset } = await offsets.logRange(topic, lane)\n',
        replace: `    const [ledger, rest] = ${READ_OFFSETS}\n    const startOffset = rest.log.start\n`,
      },
      { file: FENCE, find: `if (judgement.kind === 'halt') await producer.prove(nothing)`, replace: 'void nothing' },
    ],
  },
  {
    name: 'start at the group offset alone',
    why: 'Postgres that was set back never catches up',
    changes: [
      {
        file: JUDGE,
        find: 'const next = Math.min(within?.to ?? asked, row.appliedOffset)',
        replace: 'const next = Math.max(groupOffset ?? 0, log.start)',
      },
    ],
  },
  {
    name: 'an output topic taken by its name',
    why: 'made anew, it lacks all that was out, and nobody hears of it',
    faults: ['output_anew'],
    changes: [
      { file: JUDGE, find: 'if (anew.length > 0) return', replace: 'if (anew.length < 0) return' },
      {
        file: 'src/schemas/output-marks.ts',
        find: 'if (baseOffset < end) throw',
        replace: 'if (baseOffset < -1) throw',
      },
    ],
  },
]

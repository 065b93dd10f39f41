import type { Change, Mutant } from './mutant.ts'
import { OUTLIVES } from './outlives.ts'

const BATCH = 'src/processor/apply-batch.ts'
const WRITE = 'src/store/write-batch.ts'

const FINDS_ARRIVALS = '  const found = await findArrivals(tx, position.lane, arrivals)\n'
const READS_VIEWS = "import { readViews, type Views } from '../store/read-views.ts'\n"

/** Whoever knows an older ledger, or an older place, writes. */
const UNGUARDED: readonly Change[] = [
  { file: WRITE, find: ' and applied_offset >= ${next}\n', replace: '\n' },
  { file: WRITE, find: '    and next_seq >= ${$.int8(({ guard }) => guard.ledger)}', replace: '   ' },
]

/** Wrong designs of the lane's row: its guard, its brake version, what only grows. */
export const GUARD_MUTANTS: readonly Mutant[] = [
  {
    name: 'incarnation outlives its connection',
    why: 'after a restore an owner that knows an older ledger writes numbers that are out already',
    faults: ['restore', 'freeze', 'rebalance'],
    changes: OUTLIVES,
  },
  {
    name: 'no guard, and an incarnation outlives its connection',
    why: 'Postgres that was set back is written on as if it had everything before',
    faults: ['restore'],
    changes: [...OUTLIVES, ...UNGUARDED],
  },
  {
    name: 'lane row checked before its lock, and not after',
    why: 'a brake that is set between the two holds nothing back',
    changes: [
      {
        file: BATCH,
        find: FINDS_ARRIVALS,
        replace: `  const row = await readLane(tx, position.topic, position.lane)
  const isBehind = row === undefined || row.nextSeq < position.ledger || row.appliedOffset < position.next
  if (isBehind || row.halted !== undefined || row.brakeVersion !== position.brakeVersion)
    return rollBack({ kind: 'refused' })
${FINDS_ARRIVALS}`,
      },
      { file: BATCH, find: READS_VIEWS, replace: `import { readLane } from '../store/lane-row.ts'\n${READS_VIEWS}` },
      ...UNGUARDED,
      {
        file: WRITE,
        find: '    and brake_version = ${$.int8(({ guard }) => guard.brakeVersion)} and halted_reason is null\n',
        replace: '',
      },
    ],
  },
  {
    name: 'guard without the brake',
    why: 'what was decided before a brake was set goes out after it',
    changes: [
      {
        file: WRITE,
        find: 'and brake_version = ${$.int8(({ guard }) => guard.brakeVersion)} and halted',
        replace: 'and halted',
      },
    ],
  },
  {
    name: 'brakes read once',
    why: 'a brake that is set later holds nothing back',
    changes: [
      {
        file: 'src/processor/brakes-of.ts',
        find: 'if (cached?.version === brakeVersion) return',
        replace: 'if (cached !== undefined) return',
      },
    ],
  },
  {
    name: 'applied_offset moved backwards',
    why: 'a batch that runs again makes records count twice',
    changes: [{ file: WRITE, find: 'greatest(applied_offset, ${end})', replace: '${end}' }],
  },
  {
    name: 'settled_seq moved backwards',
    why: 'a ledger that was set back is not noticed',
    changes: [
      {
        file: WRITE,
        find: 'settled_seq = greatest(settled_seq, ${$.int8(({ guard }) => guard.ledger)})',
        replace: 'settled_seq = ${$.int8(({ guard, writes }) => Math.max(0, guard.ledger - writes.events.length))}',
      },
    ],
  },
  {
    name: 'settled before Kafka has confirmed',
    why: 'events that are not out yet count as out',
    changes: [
      {
        file: WRITE,
        find: 'settled_seq = greatest(settled_seq, ${$.int8(({ guard }) => guard.ledger)})',
        replace:
          'settled_seq = greatest(settled_seq, ${$.int8(({ guard, writes }) => guard.ledger + writes.events.length)})',
      },
    ],
  },
]

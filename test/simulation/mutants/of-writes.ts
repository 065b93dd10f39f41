import type { Mutant } from './mutant.ts'

const BATCH = 'src/processor/apply-batch.ts'
const WRITE = 'src/store/write-batch.ts'

/** Wrong designs of what is written together, and once. */
export const WRITE_MUTANTS: readonly Mutant[] = [
  {
    name: 'facts in a transaction of their own',
    why: 'killed after it, the callback counts as a duplicate and nothing ever follows from it',
    blindTo: 'lock_order',
    changes: [
      {
        file: WRITE,
        find: '  const [row] = await rowsOf<Row>(tx, WRITE_BATCH, $.values({ writes, guard }))',
        replace: `  if (writes.facts.length > 0) {
    const { nowMs, facts } = writes
    await rowsOf(tx, WRITE_BATCH, $.values({ writes: { ...NOTHING, end: guard.next, nowMs, facts }, guard }))
    await tx.query('commit')
    await tx.query('begin isolation level read committed')
    writes = { ...writes, facts: [] }
  }
  const [row] = await rowsOf<Row>(tx, WRITE_BATCH, $.values({ writes, guard }))`,
      },
    ],
  },
  {
    name: 'deliveries noted by every run of their batch',
    why: 'what arrived once is shown, and counted, as often as its batch was tried',
    changes: [
      {
        file: WRITE,
        find: 'where d.kafka_offset >= l.previous_offset',
        replace: 'where d.kafka_offset >= 0',
      },
    ],
  },
  {
    name: 'dead letter that keeps its fact',
    why: 'a record that nobody could process changes its order all the same',
    changes: [
      {
        file: 'src/processor/arrivals.ts',
        find: `    if (content.kind !== 'callback') continue\n    const { callback } = content\n`,
        replace: `    const callback = content.callback
    if (callback?.outTradeNo == null || content.kind === 'noted') continue\n`,
      },
    ],
  },
  {
    name: 'notice for a dead letter that was there',
    why: 'a batch that is read again tells of it again',
    changes: [
      { file: BATCH, find: 'letters.filter(({ offset }) => kept.newOffsets.has(offset))', replace: 'letters.slice()' },
    ],
  },
  {
    name: 'expiry without a look at the backlog',
    why: 'an order is closed whose payment lies in the log',
    changes: [
      {
        file: 'src/processor/expiry-gate.ts',
        find: '      return next >= mark.end\n    },\n  }',
        replace: '      return true\n    },\n  }',
      },
    ],
  },
]

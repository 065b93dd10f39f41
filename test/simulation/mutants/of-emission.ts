import type { Mutant } from './mutant.ts'

const PRODUCER = 'src/runtime/kafka/lane-producer.ts'
const EMIT = 'src/processor/emit.ts'
const LANE = 'src/processor/lane.ts'
const OWNERSHIP = 'src/processor/ownership.ts'
const PLAN = 'src/store/emission-plan.ts'

/** Wrong designs of the Kafka transaction: what goes into it, and in which order. */
export const EMISSION_MUTANTS: readonly Mutant[] = [
  {
    name: 'only own rows emitted',
    why: 'what a dead owner left in the table never goes out',
    changes: [
      { file: EMIT, find: '  assertDense(rows, position.ledger)\n', replace: '' },
      {
        file: EMIT,
        find: 'const ledger = position.ledger + rows.length',
        replace: 'const ledger = (rows.at(-1)?.laneSeq ?? position.ledger - 1) + 1',
      },
      {
        file: 'src/processor/events-to-emit.ts',
        find: 'applied !== undefined && applied.baseSeq === position.ledger',
        replace: 'applied !== undefined',
      },
      { file: OWNERSHIP, find: 'if (nextSeq > ledger) {', replace: 'if (nextSeq < 0) {' },
      {
        file: LANE,
        find: 'if (isRefreshDue || nextSeq > now.position.ledger) {',
        replace: 'if (isRefreshDue) {',
      },
    ],
  },
  {
    name: 'offsets outside the transaction',
    why: 'killed between the two, the successor sends the events again',
    changes: [
      {
        file: PRODUCER,
        find: `    const transaction = await producer.transaction()
    for (const [index, entry] of messages.entries()) {`,
        replace: `    let transaction = await producer.transaction()
    for (const [index, entry] of messages.entries()) {`,
      },
      {
        file: PRODUCER,
        find: '    for (const [index, offset] of offsets.entries()) {',
        replace: `    if (messages.length > 0) {
      await transaction.commit()
      transaction = await producer.transaction()
    }
    for (const [index, offset] of offsets.entries()) {`,
      },
    ],
  },
  {
    name: 'an error of the Kafka transaction taken as success',
    why: 'the ledger in memory runs ahead of the one in Kafka, and the events are nowhere',
    changes: [
      {
        file: EMIT,
        find: 'throw new EmissionFailed(error instanceof Error ? error.message : String(error), { cause: error })',
        replace: 'void error',
      },
    ],
  },
  {
    name: 'two writers of one output partition',
    why: 'lanes interleave there, and no order of their own is left',
    changes: [{ file: PLAN, find: 'partition: options.lane,', replace: 'partition: 0,' }],
  },
  {
    name: 'events sent in any order',
    why: 'a worker sees the cancel before the ship',
    changes: [
      {
        file: PLAN,
        find: 'for (const row of rows) {\n    const message',
        replace: 'for (const row of rows.toReversed()) {\n    const message',
      },
    ],
  },
]

import type { Mutant } from './mutant.ts'

const FENCE = 'src/processor/fence.ts'
const JUDGE = 'src/processor/judge-fence.ts'
const PRODUCER = 'src/runtime/kafka/lane-producer.ts'
const EMIT = 'src/processor/emit.ts'
const LANE = 'src/processor/lane.ts'
const OWNERSHIP = 'src/processor/ownership.ts'
const PLAN = 'src/store/emission-plan.ts'
const PUBLISHER = 'src/gateway/batch-publisher.ts'

const READ_LEDGER = 'readLedger(producer, offsets, { ...options, lane })'
/** What was committed last, as a coordinator says it that may be behind. */
const READ_AT_ONCE = 'offsets.committed(`${appId}.ledger`, topic, lane)'
const READ_OFFSETS = `await Promise.all([
      readLedger(producer, offsets, { ...options, lane }),
      readTopics(lane, options),
    ])`
const FENCE_PRODUCER = '  const producer = await options.fenceProducer(transactionalId(appId, lane))\n'

/** Wrong designs of the Kafka side: the fence, the ledger, the transaction, the gateway's answer. */
export const KAFKA_MUTANTS: readonly Mutant[] = [
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
    name: 'no ledger before the first batch',
    why: 'killed between the two transactions of its first batch, a lane cannot tell what is out',
    changes: [{ file: FENCE, find: `if (judgement.kind === 'fresh') {`, replace: `if (judgement.kind === 'none') {` }],
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
    name: 'producer reused for the next incarnation, and no witness',
    why: 'an object that has fenced once sends no InitProducerId again: the ledger is read while markers are on their way',
    faults: ['slow_markers', 'rebalance'],
    changes: [
      {
        file: FENCE,
        find: FENCE_PRODUCER,
        replace: `  const mine = kept.get(options.fenceProducer) ?? new Map()
  kept.set(options.fenceProducer, mine)
  const before_ = mine.get(lane)
  const producer =
    before_?.isDead() === false ? before_ : await options.fenceProducer(transactionalId(appId, lane))
  mine.set(lane, producer)\n`,
      },
      // Behind the witness it would be right by chance: a ledger that shows it shows all before it.
      { file: FENCE, find: READ_LEDGER, replace: READ_AT_ONCE },
      { file: FENCE, find: '/** For a moment a new', replace: 'const kept = new WeakMap()\n/** For a moment a new' },
      {
        file: 'src/processor/incarnation.ts',
        find: 'await Promise.allSettled([producer.close(), letGo])',
        replace: 'await Promise.allSettled([producer, letGo])',
      },
    ],
  },
  {
    name: 'producer reused after an error',
    // Three rules stand here, and each is enough: the producer is dead after an error, its incarnation ends with it, and
    // kafkajs itself begins nothing after a commit whose outcome is unknown. The first two are taken away.
    why: 'it can never begin anything again, and nobody makes a new one: the lane stands still',
    changes: [
      {
        file: PRODUCER,
        find: '    const transaction = await producer.transaction()\n    for (const [index, entry]',
        replace: '    const transaction = (open = await producer.transaction())\n    for (const [index, entry]',
      },
      {
        file: PRODUCER,
        find: '  let busy = false\n',
        replace: '  let busy = false\n  let open\n',
      },
      {
        file: PRODUCER,
        find: `    } catch (error) {
      dead ??= { cause: error }
      close()
      throw error`,
        replace: `    } catch (error) {
      await open?.abort().catch(() => undefined)
      busy = false
      throw error`,
      },
      {
        file: OWNERSHIP,
        find: 'const retreat = (step: string, error: unknown): number => {\n    void drop()',
        replace: `const retreat = (step: string, error: unknown): number => {
    if (!(error instanceof EmissionFailed)) void drop()
    place.doubt()
    if (incarnation !== undefined) place.moveTo(incarnation.position.next)`,
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
  {
    name: 'transactional id per process',
    why: 'nobody fences the one before: both emit',
    changes: [
      {
        file: FENCE,
        find: FENCE_PRODUCER,
        replace: `  if (!ids.has(options.fenceProducer)) ids.set(options.fenceProducer, Math.floor(Math.random() * 1e9))
  const id = \`\${appId}-\${ids.get(options.fenceProducer)}-lane-\${lane}\`
  const producer = await options.fenceProducer(id)\n`,
      },
      { file: FENCE, find: '/** For a moment a new', replace: 'const ids = new WeakMap()\n/** For a moment a new' },
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
  {
    name: 'a fetch that begins further on is taken',
    why: 'after a reset to the end records are skipped',
    faults: ['group_reset', 'rebalance'],
    changes: [
      { file: LANE, find: 'if (batch.fetchedOffset > now.position.next) {', replace: 'if (batch.fetchedOffset < 0) {' },
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
    name: 'acknowledged before the ack',
    why: 'the provider forgets a callback that is in no log',
    changes: [
      {
        file: PUBLISHER,
        find: 'queue.waiting.push({ message, bytes: size, deadlineAtMs, settle })',
        replace:
          'queue.waiting.push({ message, bytes: size, deadlineAtMs, settle: () => undefined })\n        settle(ACKED)',
      },
    ],
  },
  {
    name: 'acknowledged after the first of several records',
    why: 'the second order of a combined payment never hears of it',
    changes: [
      {
        file: 'src/gateway/receive-callback.ts',
        find: 'else if (--missing === 0) {',
        replace: 'else if (--missing >= 0) {\n        missing = 0',
      },
    ],
  },
  {
    name: 'an ack settles all that wait for the partition',
    why: 'what came while the call was on its way is in no log, and its sender forgets it',
    changes: [
      {
        file: PUBLISHER,
        find: 'if (error === undefined) for (const item of batch) settle(item, ACKED)',
        replace:
          'if (error === undefined) for (const item of [...batch, ...queue.waiting.splice(0)]) settle(item, ACKED)',
      },
    ],
  },
  {
    name: 'a lane knows its own ledger after a failure',
    why: 'its last transaction may have been committed though nobody said so: its events go out twice',
    changes: [
      {
        file: OWNERSHIP,
        find: 'incarnation = latest = fenced.incarnation',
        replace: `const known = latest?.position.ledger ?? fenced.incarnation.position.ledger
      fenced.incarnation.position = { ...fenced.incarnation.position, ledger: known }
      incarnation = latest = fenced.incarnation`,
      },
    ],
  },
]

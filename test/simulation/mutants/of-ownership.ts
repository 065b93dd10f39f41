import type { Mutant } from './mutant.ts'

const FENCE = 'src/processor/fence.ts'
const PRODUCER = 'src/runtime/kafka/lane-producer.ts'
const LANE = 'src/processor/lane.ts'
const OWNERSHIP = 'src/processor/ownership.ts'

const READ_LEDGER = 'readLedger(producer, offsets, { ...options, lane })'
/** What was committed last, as a coordinator says it that may be behind. */
const READ_AT_ONCE = 'offsets.committed(`${appId}.ledger`, topic, lane)'
const FENCE_PRODUCER = '  const producer = await options.fenceProducer(transactionalId(appId, lane))\n'

/** Wrong designs of who owns a lane: the producer, its transactional id, what an owner still believes. */
export const OWNERSHIP_MUTANTS: readonly Mutant[] = [
  {
    name: 'no ledger before the first batch',
    why: 'killed between the two transactions of its first batch, a lane cannot tell what is out',
    changes: [{ file: FENCE, find: `if (judgement.kind === 'fresh') {`, replace: `if (judgement.kind === 'none') {` }],
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
  {
    name: 'a fetch that begins further on is taken',
    why: 'after a reset to the end records are skipped',
    faults: ['group_reset', 'rebalance'],
    changes: [
      { file: LANE, find: 'if (batch.fetchedOffset > now.position.next) {', replace: 'if (batch.fetchedOffset < 0) {' },
    ],
  },
]

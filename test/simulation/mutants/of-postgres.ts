import type { Change, Mutant } from './mutant.ts'

const SESSION = 'src/processor/lane-session.ts'
const BATCH = 'src/processor/apply-batch.ts'
const WRITE = 'src/store/write-batch.ts'

/** The connection is opened anew behind the incarnation's back. */
const OUTLIVES: readonly Change[] = [
  {
    file: SESSION,
    find: 'const client = (options.createConnection ?? createConnection)({',
    replace: 'const open = () => (options.createConnection ?? createConnection)({',
  },
  {
    file: SESSION,
    find: '  let loss: Error | undefined\n',
    replace: `  let current = open()
  let isOpen = false
  const again = async () => {
    current = open()
    current.on('error', () => undefined)
    await current.connect()
  }
  const client = {
    connect: again,
    on: () => undefined,
    end: () => current.end(),
    query: async (...args) => {
      const [sql] = args
      if (sql === 'commit' || sql === 'rollback') isOpen = false
      try {
        return await current.query(...args)
      } catch (error) {
        if ('severity' in error && error.severity !== 'FATAL') throw error
        const wasOpen = isOpen
        isOpen = false
        await again()
        if (wasOpen) throw new RolledBack('the connection was lost')
        return await current.query(...args)
      } finally {
        if (String(sql).startsWith('begin')) isOpen = true
      }
    },
  }
  let loss: Error | undefined\n`,
  },
  { file: SESSION, find: 'if (!(error instanceof pg.DatabaseError)) lose(error)', replace: 'void lose' },
  { file: SESSION, find: '      lose(error)\n      throw error', replace: '      throw error' },
]

const FINDS_ARRIVALS = '  const found = await findArrivals(tx, position.lane, arrivals)\n'
const LOCKS_ORDERS = '  const locked = orderIds.length === 0 ? [] : await lockOrders(tx, orderIds)\n'
const READS_VIEWS = "import { readViews, type Views } from '../store/read-views.ts'\n"

/** Whoever knows an older ledger, or an older place, writes. */
const UNGUARDED: readonly Change[] = [
  { file: WRITE, find: ' and applied_offset >= ${next}\n', replace: '\n' },
  { file: WRITE, find: '    and next_seq >= ${$.int8(({ guard }) => guard.ledger)}', replace: '   ' },
]

/** An owner's first batch begins with it; all others come to it as ever. */
const LOCKED_FIRST: readonly Change[] = [
  { file: BATCH, find: 'const RERUNS_MAX = 100\n', replace: 'const RERUNS_MAX = 100\nconst begun = new WeakSet()\n' },
  {
    file: BATCH,
    find: FINDS_ARRIVALS,
    replace: `  const row = 'select halted_reason from lanes where topic = $1 and lane = $2 for no key update'
  if (!begun.has(tx)) await tx.query(row, [position.topic, position.lane])
  begun.add(tx)
${FINDS_ARRIVALS}`,
  },
]
/** A new owner lets the connections be that the one before may still have. */
const OLDER_LIVE: readonly Change[] = [
  {
    file: SESSION,
    find: `    await endOlderBackends(client, name, topic, lane)\n`,
    replace: '    void endOlderBackends\n',
  },
  { file: SESSION, find: `    await endOlderBackends(client, name, topic, lane, row.fences)\n`, replace: '' },
]

/** Wrong designs of the Postgres side: the session, the locks, the guard, what is written together. */
export const POSTGRES_MUTANTS: readonly Mutant[] = [
  {
    name: 'incarnation outlives its connection',
    why: 'after a restore an owner that knows an older ledger writes numbers that are out already',
    faults: ['restore', 'freeze', 'rebalance'],
    changes: OUTLIVES,
  },
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
    name: 'orders read and not locked',
    why: 'an order that is created meanwhile is overwritten as it was read',
    blindTo: 'lock_order',
    changes: [{ file: 'src/store/lock-orders.ts', find: ' for no key update of o`', replace: '`' }],
  },
  {
    name: 'groups read and not locked',
    why: 'two lanes pay two orders of one purchase',
    faults: ['slow'],
    blindTo: 'lock_order',
    changes: [{ file: 'src/store/read-views.ts', find: ' for no key update of g', replace: '' }],
  },
  {
    name: 'no look after the lock',
    why: 'what was known before the lock is decided upon',
    faults: ['slow'],
    blindTo: 'lock_order',
    changes: [
      {
        file: BATCH,
        find: LOCKS_ORDERS,
        replace: `  const early = orderIds.length === 0 ? [] : await lockOrders(tx, orderIds)
  const known = early.length === 0 ? { views: new Map(), archived: new Map() } : await readViews(tx, early)
  await tx.query('commit')
  await tx.query('begin isolation level read committed')
${LOCKS_ORDERS}`,
      },
      {
        file: BATCH,
        find: '  const views: Views = locked.length === 0 ? { views: new Map(), archived: new Map() } : await readViews(tx, locked)\n',
        replace: '  const views = known\n',
      },
    ],
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
    name: 'lane row not locked last',
    why: 'whoever locks an order first, as all others do, can wait for it in a circle',
    changes: LOCKED_FIRST,
  },
  {
    name: 'lane row not locked last, and older connections live on',
    // Either alone makes no circle, as only one then is at work on a lane: the order of locks is the second defence.
    why: 'the owner before has an order and waits for the row, the new one has the row and waits for the order',
    faults: ['freeze', 'rebalance', 'slow'],
    blindTo: 'lock_order',
    changes: [...LOCKED_FIRST, ...OLDER_LIVE],
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
  {
    name: 'no guard, and an incarnation outlives its connection',
    why: 'Postgres that was set back is written on as if it had everything before',
    faults: ['restore'],
    changes: [...OUTLIVES, ...UNGUARDED],
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

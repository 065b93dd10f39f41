import type { Change, Mutant } from './mutant.ts'

const SESSION = 'src/processor/lane-session.ts'
const BATCH = 'src/processor/apply-batch.ts'

const FINDS_ARRIVALS = '  const found = await findArrivals(tx, position.lane, arrivals)\n'
const LOCKS_ORDERS = '  const locked = orderIds.length === 0 ? [] : await lockOrders(tx, orderIds)\n'

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

/** Wrong designs of the locks: orders, then groups, then the lane's row, and what is read under them. */
export const LOCK_MUTANTS: readonly Mutant[] = [
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
]

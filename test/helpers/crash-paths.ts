import { CRASH_POINTS, type CrashPoint } from '../../src/processor/crash-points.ts'
import type { Call } from '../api/start-api.ts'
import { MERCHANT, payment } from './installation.ts'
import type { LaneState } from './lane-states.ts'
import type { PathWorld } from './path-world.ts'

/** A way in which a lane works without a record being read. */
export interface Path {
  readonly points: readonly CrashPoint[]
  /** Points that are not on it, and why. */
  readonly meaningless: Readonly<Record<string, string>>
  /** What all rounds need: done while nothing is filed. */
  readonly prepare: (world: PathWorld, rounds: readonly string[]) => Promise<void>
  /** Gives each lane its work, while no processor runs. */
  readonly file: (world: PathWorld, round: string) => Promise<void>
  /** Of a lane whose work was not committed, and of one whose was. */
  readonly before: LaneState
  readonly after: LaneState
  /** What workers and operators hear of a lane's round in all, as `what kind`. */
  readonly heard: readonly string[]
  /** Whoever asks again is told. */
  readonly again?: (world: PathWorld, round: string) => Promise<void>
}

const of = (pattern: RegExp) => CRASH_POINTS.filter((point) => pattern.test(point) && point !== 'emit_after_resolve')
const NO_RECORD = {
  'batch_…': '— no record is read',
  emit_after_resolve: '— no record is read, so no offset is resolved',
}
const NO_BRAKE = { 'release_…': '— nothing waits for a brake; rows of its own above' }
const NOTHING: LaneState = { orders: [], events: [], anomalies: [], timers: [], commands: [], actions: 0 }
const PAID = ['deduct', 'grant', 'ship']
const each = (what: string, kinds: readonly string[]) => kinds.map((kind) => `${what} ${kind}`)
const held = (world: PathWorld, rounds: readonly string[]) => ({
  text: `select from facts where outcome = 'held'`,
  rows: rounds.length * world.lanes.length,
})
const early = (world: PathWorld, rounds: readonly string[]) =>
  rounds.flatMap((round) => world.namesOf(round, 'early').map((name) => payment(name)))

/** An order that expires unpaid, and a callback whose order does not come. */
const timers: Path = {
  points: of(/^(wake|emit|brake)_/),
  meaningless: { ...NO_RECORD, ...NO_BRAKE },
  prepare: (world, rounds) => world.process(early(world, rounds), held(world, rounds)),
  file: async (world, round) => {
    await world.it.createOrders(world.namesOf(round, 'unpaid'), undefined, Date.now() - 1_000)
    await world.it.database.pool.query(
      `update timers set due_at = now() where kind = 'held_limit'
       and order_id in (select id from orders where out_trade_no like $1 || '-%')`,
      [round],
    )
  },
  before: {
    ...NOTHING,
    orders: ['early awaited', 'unpaid pending'],
    timers: ['early held_limit', 'unpaid expiry'],
  },
  after: {
    ...NOTHING,
    orders: ['early awaited', 'unpaid closed'],
    events: ['early anomaly_opened', 'unpaid unreserve'],
    anomalies: ['early unknown_order'],
  },
  heard: ['early anomaly_opened', 'unpaid unreserve'],
}

async function answer(world: PathWorld, call: Call, round: string): Promise<Set<number>> {
  const { rows } = await world.it.database.pool.query<{ id: string; name: string }>(
    'select a.id, out_trade_no as name from anomalies a join orders o on o.id = order_id where out_trade_no like $1',
    [`${round}-answer-%`],
  )
  const resolution = { resolution: 'accept_payment', reason: 'in stock' }
  const statuses = new Set<number>()
  const ask = async (path: string, body: object, key: string) =>
    statuses.add((await call('POST', path, body, { 'idempotency-key': key })).status)
  for (const { id, name } of rows) await ask(`/v1/anomalies/${id}/resolve`, resolution, name)
  for (const name of world.namesOf(round, 'close')) await ask(`/v1/orders/${MERCHANT}/${name}/close`, {}, name)
  return statuses
}
const mustAnswer = (world: PathWorld, round: string, status: number) =>
  world.asOperator(async (call) => {
    const statuses = [...(await answer(world, call, round))]
    if (statuses.join() !== String(status)) throw new Error(`${round}: answered with ${statuses.join()}`)
  })

/** An operator's answer to an anomaly, a merchant's close, and the wake that an order leaves whose callback came first. */
const commands: Path = {
  points: of(/^(wake|emit|brake)_/),
  meaningless: { ...NO_RECORD, ...NO_BRAKE },
  prepare: async (world, rounds) => {
    const answers = rounds.flatMap((round) => world.namesOf(round, 'answer'))
    await world.it.createOrders(answers)
    const wrong = answers.map((name) => payment(name, { amountMinor: 1 }))
    const { text, rows } = held(world, rounds)
    const opened = `${text} union all select from events where kind = 'anomaly_opened'`
    await world.process([...wrong, ...early(world, rounds)], { text: opened, rows: rows + answers.length })
  },
  file: async (world, round) => {
    await world.it.createOrders([...world.namesOf(round, 'close'), ...world.namesOf(round, 'early')])
    await mustAnswer(world, round, 202)
  },
  before: {
    orders: ['answer pending', 'close pending', 'early pending'],
    events: ['answer anomaly_opened'],
    anomalies: ['answer amount_mismatch'],
    timers: ['answer expiry', 'close expiry', 'early expiry', 'early held_limit'],
    commands: ['answer resolve pending', 'close close pending', 'early wake pending'],
    actions: 0,
  },
  after: {
    orders: ['answer paid', 'close closed', 'early paid'],
    events: [
      ...each('answer', ['anomaly_opened', 'anomaly_resolved', ...PAID]),
      ...each('close', ['unreserve']),
      ...each('early', PAID),
    ].sort(),
    anomalies: ['answer amount_mismatch accept_payment'],
    timers: [],
    commands: ['answer resolve done', 'close close done'],
    actions: 1,
  },
  heard: [
    ...each('answer', ['anomaly_opened', 'anomaly_resolved', ...PAID]),
    ...each('close', ['unreserve']),
    ...each('early', PAID),
  ],
  again: (world, round) => mustAnswer(world, round, 200),
}

const emitted: LaneState = { ...NOTHING, orders: ['paid paid'], events: each('paid', PAID) }
/** Events whose transaction in Postgres is committed, and whose emission has failed until their processor ended. */
const idleEmission: Path = {
  points: of(/^emit_/),
  meaningless: { 'wake_…': '— Postgres has all of it already', ...NO_RECORD, ...NO_BRAKE },
  prepare: () => Promise.resolve(),
  file: async (world, round) => {
    const names = world.namesOf(round, 'paid')
    await world.it.createOrders(names)
    const text = `select from events where key like '${round}-%'`
    const twice = names.flatMap((name) => [payment(name), payment(name)])
    await world.process(twice, { text, rows: names.length * PAID.length }, false)
  },
  before: emitted,
  after: emitted,
  heard: each('paid', PAID),
}

export const PATHS = { timers, commands, 'idle emission': idleEmission } satisfies Record<string, Path>
export type PathName = keyof typeof PATHS

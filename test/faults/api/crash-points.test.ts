import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readApiConfig } from '../../../src/api/config.ts'
import { API_CRASH_POINTS, type ApiCrashPoint } from '../../../src/api/crash-points.ts'
import { startApi, type Api } from '../../../src/api/start.ts'
import { mintToken } from '../../../src/runtime/access-token.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { insertApiToken } from '../../../src/store/api-tokens.ts'
import { recordTopology } from '../../../src/store/topology.ts'
import { anOrder, callWith, type Answer, type Call } from '../../api/start-api.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { portOf, startApiChild } from '../../helpers/child.ts'
import { startCrashingApi } from '../../helpers/crash.ts'
import { CRASH_ACTIONS, type CrashAction } from '../../helpers/crash-here.ts'
import { createMarkers, createTrigger, writeTable, type Cell } from '../../helpers/crash-matrix.ts'
import { createInstallation, MERCHANT, payment, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'

/** The api dies at each of its points; the request is sent again to another one, which tells what is true. */
const LANES = 2

/** One kind of request. Each point has an object of its own, which is named after it. */
interface Scenario {
  readonly points: RegExp
  readonly ask: (by: Call, name: string) => Promise<Answer>
  /** What there is of it, all of whose parts must agree. */
  readonly look: string
  readonly nothing: object
  readonly all: object
  /** The status of the answer to the one that is sent again, when nothing was there, and when all was. */
  readonly again: readonly [number, number]
}

let it: Installation
let api: Api
let token: string
let call: Call
/** Numbers of anomalies, dead letters and brakes, by the name of their point. */
const ids = new Map<string, number>()
const idOf = (name: string) => ids.get(name) ?? 0
const order = (name: string) =>
  anOrder(name, { merchant: MERCHANT, amount_minor: 100, payload: '{"sku":"A-1"}', group: `g-${name}` })
const post = (path: string, body: object, headers?: Record<string, string>) => (by: Call) =>
  by('POST', path, body, headers)
const actions = (action: string, field: string) =>
  `(select count(*)::int from operator_actions where action = '${action}' and target->'${field}' @> to_jsonb($2::int)) as actions`
const made = `(select count(*)::int from timers t where t.order_id = o.id and t.kind = 'expiry') as timers,
  (select count(*)::int from order_payloads p where p.order_id = o.id) as payloads,
  (select count(*)::int from groups where group_key = o.group_key) as groups`

const SCENARIOS = {
  create: {
    points: /^create_insert_/,
    ask: (by, name) => post('/v1/orders', order(name))(by),
    look: `select count(o.id)::int as orders, coalesce(sum(timers)::int, 0) as timers, coalesce(sum(payloads)::int, 0) as payloads,
      coalesce(sum(groups)::int, 0) as groups from (select o.id, ${made} from orders o where o.out_trade_no = $1) o`,
    nothing: { orders: 0, timers: 0, payloads: 0, groups: 0 },
    all: { orders: 1, timers: 1, payloads: 1, groups: 1 },
    again: [201, 200],
  },
  complete: {
    points: /^create_complete_/,
    ask: (by, name) => post('/v1/orders', order(name))(by),
    look: `select o.status::text, o.held_count as held, (select count(*)::int from commands c where c.order_id = o.id) as wakes, ${made}
      from orders o where o.out_trade_no = $1`,
    nothing: { status: 'awaited', held: 1, wakes: 0, timers: 0, payloads: 0, groups: 0 },
    all: { status: 'pending', held: 1, wakes: 1, timers: 1, payloads: 1, groups: 1 },
    again: [201, 200],
  },
  close: {
    points: /^command_/,
    ask: (by, name) => post(`/v1/orders/${MERCHANT}/${name}/close`, {}, { 'idempotency-key': name })(by),
    look: 'select count(*)::int as filed from commands where idempotency_key = $1',
    nothing: { filed: 0 },
    all: { filed: 1 },
    again: [202, 202],
  },
  resolve: {
    points: /^command_/,
    ask: (by, name) =>
      post(
        `/v1/anomalies/${idOf(name)}/resolve`,
        { resolution: 'accept_payment', reason: 'in stock' },
        { 'idempotency-key': name },
      )(by),
    look: 'select count(*)::int as filed from commands where idempotency_key = $1',
    nothing: { filed: 0 },
    all: { filed: 1 },
    again: [202, 202],
  },
  claim: {
    points: /^claim_/,
    ask: (by, name) => post(`/v1/anomalies/${idOf(name)}/claim`, {})(by),
    look: `select owner, ${actions('anomaly_claim', 'anomalyId')} from anomalies where id = $2`,
    nothing: { owner: null, actions: 0 },
    all: { owner: 'ann', actions: 1 },
    again: [200, 200],
  },
  unclaim: {
    points: /^claim_/,
    ask: (by, name) => post(`/v1/anomalies/${idOf(name)}/release`, {})(by),
    look: `select owner, ${actions('anomaly_release', 'anomalyId')} from anomalies where id = $2`,
    nothing: { owner: 'ann', actions: 0 },
    all: { owner: null, actions: 1 },
    again: [200, 200],
  },
  discard: {
    points: /^discard_/,
    ask: (by, name) => post(`/v1/dead-letters/${idOf(name)}/discard`, { reason: 'not ours' })(by),
    look: `select status, ${actions('dead_letters_discard', 'ids')} from dead_letters where id = $2`,
    nothing: { status: 'open', actions: 0 },
    all: { status: 'discarded', actions: 1 },
    again: [200, 200],
  },
  brake: {
    points: /^brake_/,
    ask: (by, name) => post('/v1/brakes', { merchant: MERCHANT, out_trade_no: name, reason: 'wrong address' })(by),
    look: `select count(*)::int as brakes, (select count(*)::int from operator_actions where action = 'brake_set'
      and target->>'outTradeNo' = $1) as actions from brakes where out_trade_no = $1`,
    nothing: { brakes: 0, actions: 0 },
    all: { brakes: 1, actions: 1 },
    again: [201, 200],
  },
  release: {
    points: /^brake_/,
    ask: (by, name) => post(`/v1/brakes/${idOf(name)}/release`, { reason: 'mended' })(by),
    look: `select count(released_at)::int as released, ${actions('brake_release', 'brake')} from brakes where id = $2`,
    nothing: { released: 0, actions: 0 },
    all: { released: 1, actions: 1 },
    again: [200, 200],
  },
} satisfies Record<string, Scenario>
const pointsOf = ({ points }: Scenario) =>
  API_CRASH_POINTS.filter((point) => points.test(point) || point === 'before_answer')
const nameOf = (kind: string, point: ApiCrashPoint, action: CrashAction) => `${kind}-${point}-${action}`
const namesOf = (kind: keyof typeof SCENARIOS) =>
  CRASH_ACTIONS.flatMap((action) => pointsOf(SCENARIOS[kind]).map((point) => nameOf(kind, point, action)))
const cells: Cell[] = []
/** Longer than the api waits for an answer of Postgres. */
const DELAY_MS = 7_000

beforeAll(async () => {
  it = await createInstallation({ partitions: LANES })
  const { pool } = it.database
  await recordTopology(pool, it.topics.name(INPUT_TOPIC), LANES)
  const minted = mintToken()
  token = minted.token
  await insertApiToken(pool, { name: 'ann', merchant: null, role: 'admin', expiresAtMs: null, tokenHash: minted.hash })
  api = await startApi(readApiConfig(it.env({ LOG_LEVEL: 'silent', COMMAND_WAIT_MS: '0' })), {
    log: createLog('api', 'silent'),
  })
  call = callWith(`http://127.0.0.1:${api.port}`, token)
  await until('the api is ready', async () => (await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)).ok)

  const wrong = [...namesOf('claim'), ...namesOf('unclaim'), ...namesOf('resolve')]
  await it.createOrders([...namesOf('close'), ...wrong])
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], LANES)
    await it.send([
      ...namesOf('complete').map((name) => payment(name)),
      ...wrong.map((name) => payment(name, { amountMinor: 1 })),
      ...namesOf('discard').map((name) => ({ key: name, callback: { ...payment(name).callback, facts: [] } })),
    ])
    const rows = async (text: string) => {
      const found = await pool.query<{ name: string; id: string }>(text)
      for (const { name, id } of found.rows) ids.set(name, Number(id))
      return found.rowCount
    }
    await until('all of it is there', async () => {
      const anomalies = await rows(
        'select out_trade_no as name, a.id from anomalies a join orders o on o.id = order_id',
      )
      const letters = await rows('select out_trade_no as name, id from dead_letters')
      const held = await pool.query(`select from facts where outcome = 'held'`)
      return (
        anomalies === wrong.length &&
        letters === namesOf('discard').length &&
        held.rowCount === namesOf('complete').length
      )
    })
  } finally {
    await processor.stop()
  }
  for (const name of namesOf('unclaim')) await post(`/v1/anomalies/${idOf(name)}/claim`, {})(call)
  for (const name of namesOf('release')) {
    const set = await post('/v1/brakes', { merchant: MERCHANT, out_trade_no: name, reason: 'r' })(call)
    ids.set(name, Number(set.body['id']))
  }
})
afterAll(async () => {
  writeTable('api', API_CRASH_POINTS, cells)
  await api.stop()
  await it.drop()
})

/** Before its commit is sent nothing may be there, after it everything must be; in between either. */
function mayBe(point: ApiCrashPoint): 'nothing' | 'all' | 'either' {
  if (point.endsWith('_commit_sent')) return 'either'
  return /_(before_begin|written|locked|filed|changed|before_commit)$/.test(point) ? 'nothing' : 'all'
}
async function stateOf({ look }: Scenario, name: string): Promise<unknown> {
  // What a server still has of a connection that was cut ends within a moment: it holds locks until then.
  await until('its connections are gone', async () => {
    const { rowCount } = await it.database.pool.query(
      `select from pg_stat_activity where application_name = $1 and state <> 'idle'`,
      [`${it.topics.appId}-api`],
    )
    return rowCount === 0
  })
  const values = look.includes('$2') ? [name, idOf(name)] : [name]
  const text = look.includes('$1') ? look : `${look} and $1::text is not null`
  return (await it.database.pool.query<object>(text, values)).rows[0]
}

describe.each(Object.entries(SCENARIOS))('%s', (kind, scenario) => {
  test.each(pointsOf(scenario))(
    'kill -9 at %s: all of it or nothing, and the repeated request is told which',
    async (point) => {
      const name = nameOf(kind, point, 'kill')
      expect(await stateOf(scenario, name)).toEqual(scenario.nothing)
      const child = await startCrashingApi(it, point, 'kill', {
        COMMAND_WAIT_MS: point === 'command_waiting' ? '20000' : '0',
      })
      try {
        const lost = scenario.ask(callWith(`http://127.0.0.1:${child.port}`, token), name).catch(() => 'cut off')
        await child.reached()
        expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
        expect(await lost).toBe('cut off')
      } finally {
        await child.kill()
      }
      const state = await stateOf(scenario, name)
      const isAll = JSON.stringify(state) === JSON.stringify(scenario.all)
      expect(state).toEqual(isAll ? scenario.all : scenario.nothing)
      if (mayBe(point) !== 'either') expect(isAll ? 'all' : 'nothing').toBe(mayBe(point))
      expect((await scenario.ask(call, name)).status).toBe(scenario.again[isAll ? 1 : 0])
      expect(await stateOf(scenario, name)).toEqual(scenario.all)
      expect((await scenario.ask(call, name)).status).toBe(scenario.again[1])
      expect(await stateOf(scenario, name)).toEqual(scenario.all)
      cells.push({ point, action: 'kill', says: '✓' })
    },
  )
})

/** What is told twice is told by two at once: the one that stands still, and another. */
async function settles(scenario: Scenario, name: string) {
  await until('it is all there', async () => {
    await scenario.ask(call, name)
    return JSON.stringify(await stateOf(scenario, name)) === JSON.stringify(scenario.all)
  })
  expect((await scenario.ask(call, name)).status).toBe(scenario.again[1])
  expect(await stateOf(scenario, name)).toEqual(scenario.all)
}

test.each(Object.entries(SCENARIOS))(
  '%s, stopped at each point while another is asked, and going on',
  async (kind, scenario) => {
    const trigger = createTrigger()
    const child = startApiChild(it.env({ ...trigger.env, LOG_LEVEL: 'info', COMMAND_WAIT_MS: '1000' }))
    try {
      const ofChild = callWith(`http://127.0.0.1:${await portOf(child)}`, token)
      for (const point of pointsOf(scenario)) {
        const name = nameOf(kind, point, 'stop')
        const reached = trigger.arm(point, 'stop')
        const first = scenario.ask(ofChild, name).catch(() => 'cut off')
        await reached()
        // It holds what it has locked; the other one waits for that, answers that it could not, or does it.
        const meanwhile = await scenario.ask(call, name)
        child.signal('SIGCONT')
        await first
        expect(
          meanwhile.status === 503 || scenario.again.includes(meanwhile.status),
          `${name}: ${meanwhile.status}`,
        ).toBe(true)
        await settles(scenario, name)
        cells.push({ point, action: 'stop', says: '✓' })
      }
    } finally {
      child.signal('SIGCONT')
      await child.kill()
    }
  },
)

test('held up at each point, past every timeout: all of it or nothing', async () => {
  const markers = createMarkers(DELAY_MS)
  const child = startApiChild(it.env({ ...markers.env, LOG_LEVEL: 'info', COMMAND_WAIT_MS: '1000' }))
  try {
    const ofChild = callWith(`http://127.0.0.1:${await portOf(child)}`, token)
    // All at once: whoever comes to a point first is held up there.
    const askAll = () =>
      Promise.all(
        Object.entries(SCENARIOS).flatMap(([kind, scenario]) =>
          pointsOf(scenario).map((point) => scenario.ask(ofChild, nameOf(kind, point, 'delay')).catch(() => 'cut off')),
        ),
      )
    await until(
      'every point has held somebody up',
      async () => {
        await askAll()
        return API_CRASH_POINTS.every(markers.isMarked)
      },
      120_000,
    )
    for (const [kind, scenario] of Object.entries(SCENARIOS))
      for (const point of pointsOf(scenario)) await settles(scenario, nameOf(kind, point, 'delay'))
    for (const point of API_CRASH_POINTS) cells.push({ point, action: 'delay', says: '✓' })
  } finally {
    await child.kill()
  }
})

test('afterwards lanes do all of it, each once', async () => {
  const processor = await startTestProcessor(it)
  try {
    const untilEach = (kind: keyof typeof SCENARIOS, status: number) =>
      until(`each ${kind} is answered`, async () => {
        const answers = await Promise.all(namesOf(kind).map((name) => SCENARIOS[kind].ask(call, name)))
        return answers.every((answer) => answer.status === status)
      })
    await untilEach('close', 200)
    await untilEach('resolve', 200)
    await it.send(namesOf('create').map((name) => payment(name)))
    const paid = [...namesOf('create'), ...namesOf('complete'), ...namesOf('resolve')]
    const closed = namesOf('close')
    const events = await readEvents(it.topics, { atLeast: 3 * paid.length + closed.length })
    const isClose = (key: string | null) => key?.startsWith('close-') === true
    expect(
      events
        .filter(({ key }) => isClose(key))
        .map(({ key, kind }) => `${kind} ${key}`)
        .sort(),
    ).toEqual(closed.map((name) => `unreserve ${name}`).sort())
    const found = checkExactlyOnce(
      paid,
      events.filter(({ key }) => !isClose(key)),
      { inOrder: false },
    )
    expect(found).toEqual(nothingWrong(paid))
    const { rows } = await it.database.pool.query(
      'select from brakes where told_at is null or (released_at is not null and release_told_at is null)',
    )
    expect(rows).toEqual([])
  } finally {
    await processor.stop()
  }
})

import { readFileSync } from 'node:fs'
import avro from 'avsc'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { API_CRASH_POINTS } from '../../src/api/crash-points.ts'
import { startApi, type Api } from '../../src/api/start.ts'
import { CRASH_POINTS } from '../../src/processor/crash-points.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { createLog } from '../../src/runtime/log.ts'
import { ANOMALY_TOPIC, FULFILLMENT_TOPICS, INPUT_TOPIC, INVENTORY_TOPIC } from '../../src/schemas/topics.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { fileCommand } from '../../src/store/file-command.ts'
import { recordTopology } from '../../src/store/topology.ts'
import { callWith, type Answer, type Call } from '../api/start-api.ts'
import { portOf, startApiChild } from '../helpers/child.ts'
import { startCrashing, startCrashingApi } from '../helpers/crash.ts'
import { createInstallation, MERCHANT, payment, type Installation } from '../helpers/installation.ts'
import { javaConsume } from '../helpers/java-consumer.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

/** Of the api, or of the processor: kill -9 at each step of a resolution, and the request is sent again. */
const LANES = 2
/** A wake has no input offset to resolve. */
const POINTS = CRASH_POINTS.filter((point) => /^(wake|emit)_/.test(point) && point !== 'emit_after_resolve')
/** Of the api. */
const COMMAND_POINTS = API_CRASH_POINTS.filter((point) => /^command_|^before_answer/.test(point))
/** More than a request has. */
const STATEMENTS = 12

let it: Installation
let api: Api
let token: string
let call: Call
const anomalies = new Map<string, number>()

beforeAll(async () => {
  it = await createInstallation({ partitions: LANES })
  await recordTopology(it.database.pool, it.topics.name(INPUT_TOPIC), LANES)
  const minted = mintToken()
  token = minted.token
  const of = { name: 'ann', merchant: MERCHANT, role: 'operator', expiresAtMs: null } as const
  await insertApiToken(it.database.pool, { ...of, tokenHash: minted.hash })
  api = await startApi(readApiConfig(it.env({ LOG_LEVEL: 'silent', COMMAND_WAIT_MS: '0' })), {
    log: createLog('api', 'silent'),
  })
  call = callWith(`http://127.0.0.1:${api.port}`, token)
  await makeAnomalies([
    ...POINTS,
    ...COMMAND_POINTS,
    ...['resolve', 'claim'].flatMap((verb) =>
      Array.from({ length: STATEMENTS }, (_, i) => [`${verb}-${i + 1}-sent`, `${verb}-${i + 1}-answered`]).flat(),
    ),
  ])
})
afterAll(async () => {
  await api.stop()
  await it.drop()
})

/** Orders that were closed and then paid. */
async function makeAnomalies(orders: readonly string[]) {
  const { pool } = it.database
  await it.createOrders(orders)
  for (const outTradeNo of orders)
    await fileCommand(pool, it.topics.appId, {
      ...{ kind: 'close', merchant: MERCHANT, outTradeNo, idempotencyKey: `close-${outTradeNo}` },
      ...{ bodyHash: Buffer.from(outTradeNo), body: '{}', actor: 'test' },
    })
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], LANES)
    const closed = async () =>
      (await pool.query(`select from orders where status = 'closed'`)).rowCount === orders.length
    await until('all are closed', closed)
    await it.send(orders.map((order) => payment(order)))
    await until('all are anomalies', async () => {
      const { rows } = await pool.query<{ id: string; key: string }>(
        'select a.id, o.out_trade_no as key from anomalies a join orders o on o.id = a.order_id',
      )
      for (const { id, key } of rows) anomalies.set(key, Number(id))
      return rows.length === orders.length
    })
  } finally {
    await processor.stop()
  }
}
const idOf = (order: string) => anomalies.get(order) ?? 0
const resolve = (by: Call, order: string): Promise<Answer> =>
  by(
    'POST',
    `/v1/anomalies/${idOf(order)}/resolve`,
    { resolution: 'accept_payment', reason: 'in stock' },
    { 'idempotency-key': `key-${order}` },
  )

/** What there is of an answer; the parts must agree, whenever it is looked at. */
async function stateOf(order: string) {
  const { rows } = await it.database.pool.query<Record<string, unknown>>(
    `select a.resolution is not null as resolved, o.status::text,
       (select count(*)::int from operator_actions where (target->>'anomalyId')::bigint = a.id
         and action = 'anomaly_resolve') as actions,
       (select count(*)::int from events e where e.order_id = o.id and e.kind = 'anomaly_resolved') as notices,
       (select count(*)::int from events e where e.order_id = o.id and e.kind = 'ship') as ships,
       (select count(*)::int from commands c where c.order_id = o.id and c.kind = 'resolve' and c.status = 'done') as done,
       (select count(*)::int from commands c where c.order_id = o.id and c.kind = 'resolve') as filed
     from anomalies a join orders o on o.id = a.order_id where a.id = $1`,
    [idOf(order)],
  )
  return rows[0]
}
const nothing = { resolved: false, status: 'closed', actions: 0, notices: 0, ships: 0, done: 0 }
const all = { resolved: true, status: 'paid', actions: 1, notices: 1, ships: 1, done: 1 }

describe('the processor', () => {
  test.each(POINTS)('kill -9 at %s: all of it or nothing, and the repeated request is told which', async (point) => {
    expect((await resolve(call, point)).status).toBe(202)
    const child = startCrashing(it, point, 'kill', { SESSION_TIMEOUT_MS: '1000' })
    try {
      await child.reached()
      expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
    } finally {
      await child.kill()
    }
    const state = await stateOf(point)
    const isDone = state?.['resolved'] === true
    expect(state).toEqual({ ...(isDone ? all : nothing), filed: 1 })
    const again = await resolve(call, point)
    expect([again.status, again.body['status']]).toEqual(isDone ? [200, 'done'] : [202, 'pending'])
  })
  test('afterwards each is there once, and so says whoever asks', async () => {
    const processor = await startTestProcessor(it)
    try {
      await untilSettled([processor], LANES, 60_000)
      for (const point of POINTS) {
        await until(`${point} is answered`, async () => (await resolve(call, point)).status === 200)
        expect(await stateOf(point)).toEqual({ ...all, filed: 1 })
      }
    } finally {
      await processor.stop()
    }
  })
})

/** @returns whether it died before it answered */
async function diesAt(statement: number, when: string, work: (call: Call) => Promise<Answer>): Promise<boolean> {
  const env = it.env({ CRASH_STATEMENT: String(statement), CRASH_WHEN: when, COMMAND_WAIT_MS: '20000' })
  const child = startApiChild(env)
  try {
    const port = await portOf(child)
    const answer = await work(callWith(`http://127.0.0.1:${port}`, token)).catch(() => undefined)
    if (answer === undefined) expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
    else expect(answer.status).toBe(200)
    return answer === undefined
  } finally {
    await child.kill()
  }
}

describe('the api', () => {
  test('kill -9 at each named point of a resolution, while its lane decides: the request that is sent again is told', async () => {
    const processor = await startTestProcessor(it)
    try {
      await untilSettled([processor], LANES, 60_000)
      for (const point of COMMAND_POINTS) {
        const child = await startCrashingApi(it, point, 'kill', { COMMAND_WAIT_MS: '20000' })
        try {
          const lost = resolve(callWith(`http://127.0.0.1:${child.port}`, token), point).catch(() => 'cut off')
          await child.reached()
          expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
          expect([point, await lost]).toEqual([point, 'cut off'])
        } finally {
          await child.kill()
        }
        const { filed, ...state } = (await stateOf(point)) ?? {}
        expect([nothing, all]).toContainEqual(state)
        if (/_(before_begin|filed|before_commit)$/.test(point)) expect([point, filed]).toEqual([point, 0])
        if (/_after_commit|_waiting|_answer$/.test(point)) expect([point, filed]).toEqual([point, 1])
        await until(`${point} is answered`, async () => (await resolve(call, point)).status === 200)
        expect(await stateOf(point)).toEqual({ ...all, filed: 1 })
      }
    } finally {
      await processor.stop()
    }
  })
  test('kill -9 at each statement of a resolution: one command, one answer', async () => {
    const processor = await startTestProcessor(it)
    try {
      await untilSettled([processor], LANES, 60_000)
      const deaths: string[] = []
      for (const when of ['sent', 'answered'])
        for (let statement = 1; statement <= STATEMENTS; statement++) {
          const order = `resolve-${statement}-${when}`
          const died = await diesAt(statement, when, (by) => resolve(by, order))
          await until(`${order} is answered`, async () => (await resolve(call, order)).status === 200)
          expect(await stateOf(order)).toEqual({ ...all, filed: 1 })
          if (!died) break
          deaths.push(order)
        }
      console.log(`the api died at ${deaths.join(', ')}`)
      expect(deaths.length).toBeGreaterThanOrEqual(2 * 7)
    } finally {
      await processor.stop()
    }
  })
  test('kill -9 at each statement of a claim: claimed once, or not at all', async () => {
    const deaths: string[] = []
    for (const when of ['sent', 'answered'])
      for (let statement = 1; statement <= STATEMENTS; statement++) {
        const order = `claim-${statement}-${when}`
        const claim = (by: Call) => by('POST', `/v1/anomalies/${idOf(order)}/claim`, { reason: 'mine' })
        const died = await diesAt(statement, when, claim)
        const rows = async () =>
          (
            await it.database.pool.query<{ owner: string | null; actions: number }>(
              `select owner, (select count(*)::int from operator_actions where (target->>'anomalyId')::bigint = a.id) as actions
               from anomalies a where id = $1`,
              [idOf(order)],
            )
          ).rows[0]
        const after = await rows()
        expect([
          { owner: null, actions: 0 },
          { owner: 'ann', actions: 1 },
        ]).toContainEqual(after)
        const again = await claim(call)
        expect([again.status, again.body['owner']]).toEqual([200, 'ann'])
        expect(await rows()).toEqual({ owner: 'ann', actions: 1 })
        if (!died) break
        deaths.push(order)
      }
    console.log(`the api died at ${deaths.join(', ')}`)
    expect(deaths.length).toBeGreaterThanOrEqual(2 * 8)
  })
})

test('read_committed consumers see each notice and each event once', async () => {
  const schema = readFileSync(new URL('../../src/schemas/anomaly.avsc', import.meta.url), 'utf8')
  const type = avro.Type.forSchema(JSON.parse(schema) as avro.Schema)
  const { rows } = await it.database.pool.query<{ key: string }>(
    `select key from events where kind = 'anomaly_resolved'`,
  )
  const resolved = rows.map(({ key }) => key).sort()
  const notices = await javaConsume({
    topics: [it.topics.name(ANOMALY_TOPIC)],
    atLeast: anomalies.size + resolved.length,
  })
  const seen = notices.map(({ key, value }) => {
    const { kind } = type.fromBuffer((value ?? Buffer.alloc(0)).subarray(5)) as { kind: string }
    return `${kind} ${key ?? ''}`
  })
  expect(seen.filter((one) => one.startsWith('anomaly_resolved ')).sort()).toEqual(
    resolved.map((key) => `anomaly_resolved ${key}`),
  )
  for (const topic of FULFILLMENT_TOPICS) {
    const extra: string[] = topic === INVENTORY_TOPIC ? [...anomalies.keys()] : [] // Their unreserve.
    const events = await javaConsume({ topics: [it.topics.name(topic)], atLeast: extra.length + resolved.length })
    expect(events.map(({ key }) => key).sort()).toEqual([...extra, ...resolved].sort())
  }
})

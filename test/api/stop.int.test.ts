import { Agent } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { post } from '../helpers/http.ts'
import { until } from '../helpers/until.ts'
import { anOrder, startTestApi, type TestApi } from './start-api.ts'

let it: TestApi
let headers: Record<string, string>
let agents: Agent[]
beforeEach(async () => {
  agents = []
  it = await startTestApi({ COMMAND_WAIT_MS: '30000' })
  const { token } = await it.as('merchant', 'acme')
  headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
})
afterEach(async () => {
  for (const agent of agents) agent.destroy()
  await it.stop()
})

/** Each sender has one connection and keeps it. */
const newAgent = () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agents.push(agent)
  return agent
}
const create = (outTradeNo: string, agent = newAgent()) => {
  const rawBody = Buffer.from(JSON.stringify(anOrder(outTradeNo)))
  return post(it.api.port, { path: '/v1/orders', headers, rawBody }, { agent })
}
/** `connect`: no connection was made, so no request was sent. A request that is reset says `read` or `write`. */
const failedAt = (error: unknown) => (error as NodeJS.ErrnoException).syscall ?? String(error)

test('a request that Postgres holds up is finished before the pool ends, and its answer ends the connection', async () => {
  const client = await it.pool.connect()
  try {
    await client.query('begin; lock table orders in exclusive mode')
    const inFlight = create('s1')
    await until('it waits for the lock', async () => {
      const { rows } = await client.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
      return rows.length > 0
    })
    const stopped = it.api.stop()
    await until('nothing new is accepted', () =>
      create('s2').then(
        () => false,
        (error: unknown) => failedAt(error) === 'connect',
      ),
    )
    await client.query('commit')
    const answer = await inFlight
    expect([answer.status, answer.headers.connection]).toEqual([201, 'close'])
    await stopped
  } finally {
    client.release()
  }
})

test('stopping under load: no request is reset and none is answered with 5xx', async () => {
  let answered = 0
  const ends: string[] = []
  const sender = async (lane: number) => {
    const agent = newAgent()
    for (let i = 0; ; i++) {
      try {
        const { status } = await create(`s-${lane}-${i}`, agent)
        answered++
        if (status !== 201) return ends.push(String(status))
      } catch (error) {
        return ends.push(failedAt(error))
      }
    }
  }
  const senders = Array.from({ length: 16 }, (_, lane) => sender(lane))
  await until('load runs', () => answered > 200)
  await it.api.stop()
  await Promise.all(senders)
  expect(ends).toEqual(Array.from({ length: 16 }, () => 'connect'))
})

test('a close that waits for its lane is answered at once with 202, and so is one that comes meanwhile', async () => {
  const [first, second] = [newAgent(), newAgent()]
  const close = (outTradeNo: string, agent: Agent) =>
    post(
      it.api.port,
      {
        path: `/v1/orders/acme/${outTradeNo}/close`,
        headers: { ...headers, 'idempotency-key': outTradeNo },
        rawBody: Buffer.from('{}'),
      },
      { agent },
    )
  await create('w1', first)
  await create('w2', second)
  const waits = close('w1', first)
  await until('the command is filed', async () => (await it.pool.query('select from commands')).rows.length === 1)
  const stopped = it.api.stop()
  const answers = await Promise.all([waits, close('w2', second)])
  expect(answers.map(({ status, headers: { connection } }) => [status, connection])).toEqual([
    [202, 'close'],
    [202, 'close'],
  ])
  await stopped
})

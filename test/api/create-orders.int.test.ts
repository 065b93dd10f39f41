import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { partitionFor } from '../../src/runtime/kafka/partition.ts'
import { createOrders } from '../../src/store/create-orders.ts'
import { transaction } from '../../src/runtime/postgres.ts'
import { anOrder, startTestApi, type Call, type TestApi } from './start-api.ts'

let it: TestApi
let acme: Call
beforeAll(async () => {
  it = await startTestApi()
  acme = await it.as('merchant', 'acme')
})
afterAll(() => it.stop())

const create = (order: unknown) => acme('POST', '/v1/orders', order)
const rows = async <T extends object>(sql: string, values: unknown[] = []) => (await it.pool.query<T>(sql, values)).rows
/** What a lane leaves when a callback comes before its order. */
const givenStub = async (outTradeNo: string) =>
  (
    await rows<{ id: string }>(
      `insert into orders (merchant, out_trade_no, lane) values ('acme', $1, $2) returning id`,
      [outTradeNo, partitionFor(outTradeNo, 12)],
    )
  )[0]?.id

test('a new order: 201, in its lane, with its timer and payload; again: 200 and the same answer', async () => {
  const order = anOrder('one', { group: 'cart-1', payload: { sku: 'A1', qty: 2 } })
  const first = await create(order)
  expect([first.status, first.body]).toEqual([
    201,
    {
      merchant: 'acme',
      out_trade_no: 'one',
      status: 'pending',
      amount_minor: 1_999,
      currency: 'CNY',
      expires_at: '2036-11-11T04:30:00.000Z',
      group: 'cart-1',
    },
  ])
  const again = await create({ ...order, expires_at: '2036-11-11T04:30:00Z' })
  expect([again.status, again.body]).toEqual([200, first.body])
  const stored = await rows(
    `select o.lane, o.has_payload, p.payload, t.kind, t.lane as timer_lane, t.due_at = o.expires_at as due, o.version
     from orders o join order_payloads p on p.order_id = o.id join timers t on t.order_id = o.id where out_trade_no = 'one'`,
  )
  const lane = partitionFor('one', 12)
  expect(stored).toEqual([
    {
      lane,
      has_payload: true,
      payload: '{"sku":"A1","qty":2}',
      kind: 'expiry',
      timer_lane: lane,
      due: true,
      version: 0,
    },
  ])
})

describe('another body: 409 that names the first field that differs', () => {
  const original = anOrder('two', { group: 'g', payload: 'p' })
  test.each([
    ['amount_minor', { amount_minor: 2_000, currency: 'USD' }],
    ['currency', { currency: 'USD', expires_at: '2037-01-01T00:00:00Z' }],
    ['expires_at', { expires_at: '2036-11-11T12:30:00.001+08:00', group: 'h' }],
    ['group', { group: 'h', payload: 'q' }],
    ['group', { group: null }],
    ['payload', { payload: 'q' }],
    ['payload', { payload: undefined }],
  ])('%s', async (field, change) => {
    await create(original)
    const answer = await create({ ...original, ...change })
    expect([answer.status, answer.body['type'], answer.body['field']]).toEqual([
      409,
      'urn:paidonce:problem:order_differs',
      field,
    ])
    expect((await create(original)).status).toBe(200)
  })
})

test('50 clicks at the same instant: one order, one timer, one 201 and 49 times the same', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => create(anOrder('clicks', { payload: 'x' }))))
  const statuses = answers.map(({ status }) => status).sort()
  expect(statuses).toEqual([...Array.from({ length: 49 }, () => 200), 201])
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  const counts = await rows(`select count(*)::int as orders,
    (select count(*)::int from timers t where t.order_id = min(o.id)) as timers from orders o where out_trade_no = 'clicks'`)
  expect(counts).toEqual([{ orders: 1, timers: 1 }])
})

test('50 clicks with two amounts: one wins, all others agree on it', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => create(anOrder('rivals', { amount_minor: 100 + (n % 2) }))),
  )
  const by = (status: number) => answers.filter((answer) => answer.status === status)
  expect([by(201).length, by(200).length, by(409).length]).toEqual([1, 24, 25])
  expect(new Set(by(200).map(({ body }) => body['amount_minor']))).toEqual(new Set([by(201)[0]?.body['amount_minor']]))
  expect(by(409).every(({ body }) => body['field'] === 'amount_minor')).toBe(true)
})

test('a list: each order has its own result, and none keeps another back', async () => {
  await create(anOrder('list-same'))
  await create(anOrder('list-other'))
  await givenStub('list-stub')
  const list = [
    anOrder('list-new'),
    anOrder('list-same'),
    anOrder('list-other', { amount_minor: 5 }),
    anOrder('list-bad', { currency: 'RMB' }),
    anOrder('list-yuan', { amount_minor: 19.99 }),
    'nonsense',
    anOrder('list-foreign', { merchant: 'globex' }),
    anOrder('list-stub'),
    anOrder('list-new'), // the same once more
    anOrder('list-new', { amount_minor: 7 }),
  ]
  const answer = await acme('POST', '/v1/orders', { orders: list })
  expect(answer.status).toBe(200)
  const results = answer.body['results'] as { status: number; problem?: { field?: string } }[]
  expect(results.map(({ status, problem }) => [status, problem?.field])).toEqual([
    [201, undefined],
    [200, undefined],
    [409, 'amount_minor'],
    [400, 'currency'],
    [400, 'amount_minor'],
    [400, undefined],
    [403, 'merchant'],
    [201, undefined],
    [200, undefined],
    [409, 'amount_minor'],
  ])
  expect(await rows(`select 1 from orders where out_trade_no in ('list-bad', 'list-foreign')`)).toEqual([])
})

test('500 orders at once; 501, none and a stray field are refused', async () => {
  const list = (count: number) => Array.from({ length: count }, (_, n) => anOrder(`many-${n}`))
  const startedMs = performance.now()
  const answer = await acme('POST', '/v1/orders', { orders: list(500) })
  console.log(`500 orders in ${Math.round(performance.now() - startedMs)} ms`)
  expect((answer.body['results'] as { status: number }[]).every(({ status }) => status === 201)).toBe(true)
  for (const body of [{ orders: list(501) }, { orders: [] }, { orders: 'x' }])
    expect((await acme('POST', '/v1/orders', body)).body).toMatchObject({ status: 400, field: 'orders' })
  expect((await acme('POST', '/v1/orders', { orders: list(1), merchant: 'acme' })).body['field']).toBe('merchant')
})

test('lists of the same new orders, forwards and backwards, do not deadlock', async () => {
  for (const round of [1, 2, 3]) {
    const list = Array.from({ length: 500 }, (_, n) => anOrder(`shuffled-${round}-${n}`))
    const lists = Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? list : list.toReversed()))
    const answers = await Promise.all(lists.map((orders) => acme('POST', '/v1/orders', { orders })))
    const created = answers.flatMap(({ body }) => (body['results'] as { status: number }[]).map(({ status }) => status))
    expect(created.filter((status) => status === 201)).toHaveLength(500)
    expect(created.filter((status) => status === 200)).toHaveLength(3_500)
  }
  const metrics = await (await fetch(`http://127.0.0.1:${it.api.metricsPort}/metrics`)).text()
  expect(metrics).toContain('paidonce_api_database_retries_total 0')
})

test('an order whose callback came first takes its terms, keeps its id, and wakes its lane once', async () => {
  const id = await givenStub('late')
  const listener = await it.pool.connect()
  const heard: unknown[] = []
  listener.on('notification', ({ channel, payload }) => heard.push([channel, payload]))
  await listener.query('listen paidonce_lanes')
  const order = anOrder('late', { payload: 'x' })
  const answers = await Promise.all([create(order), create(order), create(order)])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201])
  const lane = partitionFor('late', 12)
  expect(await rows(`select id, status, amount_minor, version from orders where out_trade_no = 'late'`)).toEqual([
    { id, status: 'pending', amount_minor: '1999', version: 1 },
  ])
  expect(await rows(`select kind, lane, status from commands where order_id = $1`, [id])).toEqual([
    { kind: 'wake', lane, status: 'pending' },
  ])
  await listener.query('select 1')
  expect(heard).toEqual([['paidonce_lanes', String(lane)]])
  listener.release(true)
})

test('a stub that its lane keeps locked is busy; the others of the list are created meanwhile', async () => {
  const id = await givenStub('locked')
  const answer = await transaction(it.pool, async (tx) => {
    await tx.query('select 1 from orders where id = $1 for no key update', [id])
    return acme('POST', '/v1/orders', { orders: [anOrder('beside-locked'), anOrder('locked')] })
  })
  const results = answer.body['results'] as { status: number; problem?: { type: string } }[]
  expect(results.map(({ status, problem }) => [status, problem?.type])).toEqual([
    [201, undefined],
    [503, 'urn:paidonce:problem:order_busy'],
  ])
  expect((await create(anOrder('locked'))).status).toBe(201)
})

const outcomesOf = ({ body }: Awaited<ReturnType<Call>>) =>
  (body['results'] as { status: number; problem?: { type: string } }[]).map(({ status, problem }) => [
    status,
    problem?.type.split(':').at(-1),
  ])

test('an order whose stub a slow lane is just making is busy; all others of the list are created', async () => {
  const list = Array.from({ length: 100 }, (_, n) => anOrder(`making-${n}`))
  const made = [7, 8, 93]
  const startedMs = performance.now()
  const answer = await transaction(it.pool, async (tx) => {
    for (const n of made)
      await tx.query(`insert into orders (merchant, out_trade_no, lane) values ('acme', $1, $2)`, [
        `making-${n}`,
        partitionFor(`making-${n}`, 12),
      ])
    return acme('POST', '/v1/orders', { orders: list })
  })
  console.log(`100 orders, 3 of them held: ${Math.round(performance.now() - startedMs)} ms`)
  expect(outcomesOf(answer)).toEqual(list.map((_, n) => (made.includes(n) ? [503, 'order_busy'] : [201, undefined])))
  // The lane has committed: they are stubs now.
  const again = outcomesOf(await acme('POST', '/v1/orders', { orders: list }))
  expect(again).toEqual(list.map((_, n) => [made.includes(n) ? 201 : 200, undefined]))
})

test('a stub that its lane keeps locked keeps no other stub back', async () => {
  const [locked] = await Promise.all([1, 2, 3, 4, 5].map((n) => givenStub(`stub-${n}`)))
  const answer = await transaction(it.pool, async (tx) => {
    await tx.query('select 1 from orders where id = $1 for no key update', [locked])
    return acme('POST', '/v1/orders', { orders: [5, 4, 3, 2, 1].map((n) => anOrder(`stub-${n}`)) })
  })
  expect(outcomesOf(answer)).toEqual([...[1, 2, 3, 4].map(() => [201, undefined]), [503, 'order_busy']])
})

test('a lane that holds all of a long list makes it busy within seconds', async () => {
  const list = Array.from({ length: 500 }, (_, n) => anOrder(`held-${n}`))
  const startedMs = performance.now()
  const answer = await transaction(it.pool, async (tx) => {
    await tx.query(`insert into orders (merchant, out_trade_no, lane) select 'acme', unnest($1::text[]), 0`, [
      list.map(({ out_trade_no }) => out_trade_no),
    ])
    return acme('POST', '/v1/orders', { orders: list })
  })
  const tookMs = performance.now() - startedMs
  console.log(`500 orders, all of them held: ${Math.round(tookMs)} ms`)
  expect(outcomesOf(answer)).toEqual(list.map(() => [503, 'order_busy']))
  expect(tookMs).toBeLessThan(8_000)
})

test('an archived order is not created again', async () => {
  await it.pool.query(`insert into tombstones (merchant, out_trade_no, status) values ('acme', 'old', 'shipped')`)
  const answer = await create(anOrder('old', { payload: 'x' }))
  expect([answer.status, answer.body['type']]).toEqual([409, 'urn:paidonce:problem:order_archived'])
  expect(await rows(`select 1 from orders where out_trade_no = 'old'`)).toEqual([])
})

test('data that Postgres refuses fails its own order only', async () => {
  const body = (outTradeNo: string) => ({
    ...{ merchant: 'acme', outTradeNo, amountMinor: 1, currency: 'CNY', expiresAtMs: 2e12 },
    ...{ groupKey: null, payload: null },
  })
  const results = await createOrders(it.pool, 'paidonce', [
    { body: body('sound'), lane: 0 },
    { body: body('x'.repeat(65)), lane: 0 },
  ])
  expect(results.map(({ kind }) => kind)).toEqual(['created', 'failed'])
})

test('payloads keep their digits', async () => {
  const text = JSON.stringify(anOrder('digits')).replace(/}$/, ', "payload": {"id": 12345678901234567890, "p": 1.10}}')
  const answer = await acme('POST', '/v1/orders', Buffer.from(text))
  expect(answer.status).toBe(201)
  expect(
    await rows(`select payload from order_payloads p join orders o on o.id = p.order_id where out_trade_no = 'digits'`),
  ).toEqual([{ payload: '{"id":12345678901234567890,"p":1.10}' }])
})

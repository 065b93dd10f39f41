import { afterAll, beforeAll, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi, type Api } from '../../src/api/start.ts'
import type { Fact } from '../../src/orders/model.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { createLog } from '../../src/runtime/log.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { portOf, startApiChild, type Child } from '../helpers/child.ts'
import {
  AMOUNT_MINOR,
  callbackOf,
  createInstallation,
  MERCHANT,
  payment,
  type Installation,
} from '../helpers/installation.ts'
import { metricOf, probe, startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'
import { callWith, type Call } from '../api/start-api.ts'

let it: Installation
let processor: RunningProcessor
let api: Api
/** An api in a process of its own. */
let other: Child
/** Each asks another api. */
let ann: Call
let bob: Call
const POLICIES = JSON.stringify({
  everybody: { paid_after_close: 'anomaly' },
  merchants: { [MERCHANT]: { paid_after_close: { accept_within_minutes: 10 } } },
})
beforeAll(async () => {
  it = await createInstallation({ partitions: 2 })
  processor = await startTestProcessor(it, { POLICIES })
  await untilSettled([processor], 2)
  api = await startApi(readApiConfig(it.env({ LOG_LEVEL: 'silent' })), { log: createLog('api', 'silent') })
  other = startApiChild(it.env({ LOG_LEVEL: 'info' }))
  const tokenOf = async (name: string, port: number) => {
    const { token, hash } = mintToken()
    const of = { name, merchant: MERCHANT, role: 'operator', expiresAtMs: null } as const
    await insertApiToken(it.database.pool, { ...of, tokenHash: hash })
    return callWith(`http://127.0.0.1:${port}`, token)
  }
  ;[ann, bob] = [await tokenOf('ann', api.port), await tokenOf('bob', await portOf(other))]
  await until('the api is ready', async () => (await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)).ok)
})
afterAll(async () => {
  expect(await other.stop()).toEqual({ code: 0, signal: null })
  await api.stop()
  await processor.stop()
  await it.drop()
})

const MINUTE_MS = 60_000
const rowsOf = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await it.database.pool.query<Row>(sql, values)).rows
const close = async (outTradeNo: string) => {
  await it.createOrders([outTradeNo])
  const path = `/v1/orders/${MERCHANT}/${outTradeNo}/close`
  expect((await ann('POST', path, {}, { 'idempotency-key': `close-${outTradeNo}` })).status).toBe(200)
}
const anomaliesOf = (outTradeNo: string) =>
  rowsOf<{ id: string; kind: string; resolution: string | null; resolved_by: string | null; status: string }>(
    `select a.id, a.kind, a.resolution, a.resolved_by, o.status from anomalies a join orders o on o.id = order_id
     where out_trade_no = $1 order by a.id`,
    [outTradeNo],
  )
const kindsOf = async (outTradeNo: string) =>
  (await rowsOf<{ kind: string }>('select kind from events where key = $1 order by lane_seq', [outTradeNo])).map(
    ({ kind }) => kind,
  )
const refund = (outTradeNo: string, amountMinor: number, ref: string) =>
  callbackOf(outTradeNo, {
    ...{ eventType: 'refund_succeeded', providerRef: `wechatpay:${ref}`, paymentRef: `wechatpay:tx-${outTradeNo}` },
    ...{ amountMinor, currency: 'CNY', amountKind: 'individual', eventTimeMs: Date.now(), detail: null },
  })
const late = (over: Partial<Fact> = {}) => ({ eventTimeMs: Date.now() + 11 * MINUTE_MS, ...over })
const untilOpen = (outTradeNo: string) =>
  until(`an anomaly of ${outTradeNo}`, async () => (await anomaliesOf(outTradeNo))[0])
const resolve = (call: Call, id: string, resolution: string, key: string) =>
  call('POST', `/v1/anomalies/${id}/resolve`, { resolution, reason: 'because' }, { 'idempotency-key': key })

test('a refund of an anomaly’s payment closes it, when it is the whole; one anomaly per cause, however often it came', async () => {
  await close('refunded')
  const paid = payment('refunded', late())
  await it.send([paid, paid, paid])
  await untilOpen('refunded')
  await it.send([refund('refunded', 40, 'r1'), paid, refund('refunded', 40, 'r1')])
  await until(
    'the part is recorded',
    async () => (await rowsOf(`select from facts where provider_ref = 'wechatpay:r1'`))[0],
  )
  expect(await anomaliesOf('refunded')).toMatchObject([
    { kind: 'paid_after_close', resolution: null, status: 'closed' },
  ])
  await it.send([refund('refunded', AMOUNT_MINOR - 40, 'r2'), refund('refunded', AMOUNT_MINOR - 40, 'r2'), paid])
  await until('it is closed', async () => (await anomaliesOf('refunded'))[0]?.resolution === 'refunded')
  expect(await anomaliesOf('refunded')).toHaveLength(1)
  expect(await kindsOf('refunded')).toEqual(['unreserve', 'anomaly_opened', 'anomaly_resolved'])
  const [notice] = await rowsOf<{ attrs: string }>(
    `select attrs from events where kind = 'anomaly_resolved' and key = 'refunded'`,
  )
  expect(JSON.parse(notice?.attrs ?? '')).toMatchObject({
    anomaly: 'paid_after_close',
    resolution: 'refunded',
    by: null,
  })
  expect(await rowsOf(`select from operator_actions where target->>'cause' like '%tx-refunded'`)).toEqual([])
})

test('a payment within the merchant’s minutes after the close is accepted, by its own time; later ones are not', async () => {
  await close('in-time')
  await close('too-late')
  await it.send([payment('in-time', { eventTimeMs: Date.now() + 9 * MINUTE_MS }), payment('too-late', late())])
  await untilOpen('too-late')
  await until('it is paid', async () => (await kindsOf('in-time')).includes('grant'))
  expect(await kindsOf('in-time')).toEqual(['unreserve', 'ship', 'deduct', 'grant'])
  expect(await anomaliesOf('in-time')).toEqual([])
  expect(await kindsOf('too-late')).toEqual(['unreserve', 'anomaly_opened'])
})

test('two operators at the same instant: one answer, one row, one notice; the other is told who', async () => {
  const orders = Array.from({ length: 10 }, (_, i) => `both-${i}`)
  for (const order of orders) await close(order)
  await it.send(orders.map((order) => payment(order, late())))
  for (const [round, order] of orders.entries()) {
    const { id } = await untilOpen(order)
    // Every other time both say the same.
    const second = round % 2 === 0 ? 'accept_payment' : 'refund_outside'
    const answers = await Promise.all([
      resolve(ann, id, 'accept_payment', `ann-${order}`),
      resolve(bob, id, second, `bob-${order}`),
    ])
    const winner = answers[0].status === 200 ? 'ann' : 'bob'
    const given = winner === 'ann' ? 'accept_payment' : second
    const lost = answers.find(({ status }) => status !== 200)
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect([lost?.body['reason'], lost?.body['detail']]).toEqual([
      ...['already_resolved', `It was resolved before, by ${winner}: ${given}.`],
    ])
    expect(await anomaliesOf(order)).toMatchObject([{ resolution: given, resolved_by: winner }])
    const actions = await rowsOf(
      `select actor, reason, target->>'resolution' as resolution, target->>'commandId' as command from operator_actions
       where (target->>'anomalyId')::int = $1`,
      [id],
    )
    const [command] = await rowsOf<{ id: string }>('select id from commands where idempotency_key = $1', [
      `${winner}-${order}`,
    ])
    expect(actions).toEqual([{ actor: winner, reason: 'because', resolution: given, command: command?.id }])
    const shipped = given === 'accept_payment' ? ['ship', 'deduct', 'grant'] : []
    expect(await kindsOf(order)).toEqual(['unreserve', 'anomaly_opened', ...shipped, 'anomaly_resolved'])
    // Asked again, each is told the same.
    const again = [
      await resolve(ann, id, 'accept_payment', `ann-${order}`),
      await resolve(bob, id, second, `bob-${order}`),
    ]
    expect(again.map(({ status, body }) => [status, body['detail']])).toEqual(
      answers.map(({ status, body }) => [status, body['detail']]),
    )
  }
})

test('a claim and an answer by another at the same instant: never both, unless the answer was first', async () => {
  const orders = Array.from({ length: 10 }, (_, i) => `claimed-${i}`)
  for (const order of orders) await close(order)
  await it.send(orders.map((order) => payment(order, late())))
  for (const order of orders) {
    const { id } = await untilOpen(order)
    const [claim, answer] = await Promise.all([
      ann('POST', `/v1/anomalies/${id}/claim`, {}),
      resolve(bob, id, 'ignore', `c-${order}`),
    ])
    if (claim.status === 200) expect([answer.status, answer.body['detail']]).toEqual([409, 'ann works on it.'])
    else expect([claim.body['detail'], answer.status]).toEqual(['It was resolved before, by bob: ignore.', 200])
    if (claim.status === 200) expect((await resolve(ann, id, 'ignore', `a-${order}`)).status).toBe(200)
  }
})

test('the metrics: open by kind with their age, how many are claimed, and how they were resolved', async () => {
  await close('measured')
  await it.send([payment('measured', late())])
  const { id } = await untilOpen('measured')
  await ann('POST', `/v1/anomalies/${id}/claim`, {})
  const text = await until(
    'the sample has it',
    async () => {
      const { text } = await probe(processor, '/metrics')
      return metricOf(text, 'paidonce_anomalies_claimed', 'kind="paid_after_close"') === 1 && text
    },
    15_000,
  )
  expect(metricOf(text, 'paidonce_anomalies_open', 'kind="paid_after_close"')).toBe(2) // And too-late.
  expect(metricOf(text, 'paidonce_anomalies_oldest_seconds', 'kind="paid_after_close"')).toBeGreaterThan(0)
  const resolved = metricOf(text, 'paidonce_anomalies_resolved_total', 'kind="paid_after_close"')
  const [{ n } = { n: 0 }] = await rowsOf<{ n: number }>('select count(resolution)::int as n from anomalies')
  expect(resolved).toBe(n)
  expect(metricOf(text, 'paidonce_anomalies_resolved_total', 'resolution="refunded"')).toBe(1)
})

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi, type Api } from '../../src/api/start.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { createLog } from '../../src/runtime/log.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { createInstallation, MERCHANT, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'
import { anOrder, callWith, type Call } from './start-api.ts'

let it: Installation
let processor: RunningProcessor
let api: Api
let call: Call
beforeAll(async () => {
  it = await createInstallation()
  processor = await startTestProcessor(it)
  await untilSettled([processor], it.topics.partitions)
  const config = readApiConfig(it.env({ LOG_LEVEL: 'silent' }))
  api = await startApi(config, { log: createLog('api', 'silent') })
  const { token, hash } = mintToken()
  const of = { merchant: MERCHANT, role: 'merchant', expiresAtMs: null } as const
  await insertApiToken(it.database.pool, { name: 'shop', tokenHash: hash, ...of })
  call = callWith(`http://127.0.0.1:${api.port}`, token)
  await until('the api is ready', async () => (await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)).ok)
})
afterAll(async () => {
  await api.stop()
  await processor.stop()
  await it.drop()
})

const create = (outTradeNo: string) =>
  call('POST', '/v1/orders', anOrder(outTradeNo, { merchant: MERCHANT, amount_minor: 100 }))
const close = (outTradeNo: string, key = randomUUID()) =>
  call('POST', `/v1/orders/${MERCHANT}/${outTradeNo}/close`, {}, { 'idempotency-key': key })
const untilStatus = (outTradeNo: string, status: string) =>
  until(`${outTradeNo} is ${status}`, async () => {
    const { body } = await call('GET', `/v1/orders/${MERCHANT}/${outTradeNo}`)
    return body['status'] === status && body
  })
const timelineOf = async (outTradeNo: string) =>
  (await call('GET', `/v1/orders/${MERCHANT}/${outTradeNo}/timeline`)).body as Record<string, Record<string, unknown>[]>

test('close before payment: 200 closed by the lane; again: the same; unreserve is emitted', async () => {
  await create('p1')
  const startedMs = performance.now()
  const answer = await close('p1')
  console.log(`a close took ${Math.round(performance.now() - startedMs)} ms`)
  expect([answer.status, answer.body['result']]).toEqual([200, { kind: 'done', status: 'closed' }])
  expect((await close('p1')).body['result']).toEqual({ kind: 'done', status: 'closed' })
  const { body } = await call('GET', `/v1/orders/${MERCHANT}/p1`)
  expect(body).toMatchObject({ status: 'closed', closed_by: 'merchant', events: 1 })
  const timeline = await timelineOf('p1')
  expect(timeline['events']).toMatchObject([{ kind: 'unreserve', cause: 'close', sequence: 1, lane: it.laneOf('p1') }])
})

test('close after payment: 409 already_paid, and the timeline has it all', async () => {
  await create('p2')
  await it.send([payment('p2'), payment('p2')])
  await untilStatus('p2', 'paid')
  const answer = await close('p2')
  expect([answer.status, answer.body['reason']]).toEqual([409, 'already_paid'])
  const timeline = await timelineOf('p2')
  expect(timeline['deliveries']?.map((d) => d['outcome'])).toEqual(['applied', 'duplicate'])
  expect(timeline['facts']).toMatchObject([{ event_type: 'payment_succeeded', outcome: 'applied', amount_minor: 100 }])
  expect(timeline['events']?.map((e) => e['kind']).sort()).toEqual(['deduct', 'grant', 'ship'])
})

test('an order that is created after its payment arrived is paid by itself', async () => {
  await it.send([payment('p3')])
  await untilStatus('p3', 'awaited')
  const early = await close('p3')
  expect([early.status, early.body['reason']]).toEqual([409, 'unknown_order'])
  expect((await create('p3')).status).toBe(201)
  expect(await untilStatus('p3', 'paid')).toMatchObject({ held_facts: 0, events: 3 })
})

test('a close and a payment at the same instant: one of them wins, and both sides agree', async () => {
  for (const round of Array.from({ length: 5 }, (_, n) => `race-${n}`)) {
    await create(round)
    const [answer] = await Promise.all([close(round), it.send([payment(round)])])
    const body = await until(`${round} is decided`, async () => {
      const { body: order } = await call('GET', `/v1/orders/${MERCHANT}/${round}`)
      const timeline = await timelineOf(round)
      return order['status'] !== 'pending' && (timeline['facts']?.length ?? 0) > 0 && { ...order, ...timeline }
    })
    const order = body as unknown as Record<string, unknown> & Record<'anomalies' | 'events', { kind: string }[]>
    const kinds = order.events
      .map(({ kind }) => kind)
      .filter((kind) => !kind.startsWith('anomaly'))
      .sort()
    if (answer.status === 200) {
      expect([order['status'], kinds, order.anomalies.map(({ kind }) => kind)]).toEqual([
        ...['closed', ['unreserve'], ['paid_after_close']],
      ])
    } else {
      expect([answer.status, order['status'], kinds]).toEqual([409, 'paid', ['deduct', 'grant', 'ship']])
    }
  }
})

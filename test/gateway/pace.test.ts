import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createApp } from '../../src/gateway/app.ts'
import { createMetrics } from '../../src/gateway/metrics.ts'
import { createPace } from '../../src/gateway/pace.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLog } from '../../src/runtime/log.ts'
import { post } from '../helpers/http.ts'
import { until } from '../helpers/until.ts'

const responseOf = (destroy: () => void) => ({ req: { socket: { destroy } } }) as unknown as ServerResponse
const RESPONSE = responseOf(() => undefined)
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('64 answers at once, the others in later turns, 16 in each, in order', async () => {
  const pace = createPace(1_000)
  const answered: number[] = []
  for (let i = 0; i < 100; i++) pace(RESPONSE, () => answered.push(i))
  expect(answered).toHaveLength(64)
  const perTurn: number[] = []
  while (answered.length < 100) {
    const before = answered.length
    await turn()
    if (answered.length > before) perTurn.push(answered.length - before)
  }
  expect(perTurn).toEqual([16, 16, 4])
  expect(answered).toEqual(Array.from({ length: 100 }, (_, i) => i))
})

test('whoever comes while others wait does so too', async () => {
  const pace = createPace(1_000)
  const answered: string[] = []
  for (let i = 0; i < 90; i++) pace(RESPONSE, () => answered.push('early'))
  await turn()
  pace(RESPONSE, () => answered.push('late'))
  expect(answered).not.toContain('late')
  await until('it is answered', () => answered.at(-1) === 'late')
  expect(answered).toHaveLength(91)
})

test('in each turn there is room again', async () => {
  const pace = createPace(0)
  let answered = 0
  for (let round = 1; round <= 3; round++) {
    for (let i = 0; i < 64; i++) pace(RESPONSE, () => (answered += 1))
    expect(answered).toBe(64 * round)
    await turn()
    await turn()
  }
})

test('a connection whose answer would be one too many ends', async () => {
  const pace = createPace(2)
  const answered: number[] = []
  const ended: number[] = []
  for (let i = 0; i < 68; i++)
    pace(
      responseOf(() => ended.push(i)),
      () => answered.push(i),
    )
  expect(ended).toEqual([66, 67])
  await until('the others are answered', () => answered.length === 66)
})

test('every answer goes through it, but the one to an accepted callback', async () => {
  const metrics = createMetrics()
  const says = { outTradeNo: 'T1', tradeNo: '', totalAmount: '' }
  const bound = { verifyReturn: () => ({ kind: 'verified', says }) } as unknown as Provider
  const find = (_provider: string, merchant: string) => (merchant === 'shop1' ? bound : undefined)
  let [paced, isAccepted] = [0, false]
  const app = createApp(
    {
      ...{ merchants: { names: [], find }, inFlightMax: 9, mayKeepAlive: () => true, clock: systemClock, metrics },
      receive: () => (_target, _request, _deadlineAtMs, answer) =>
        answer(isAccepted ? { kind: 'accepted' } : { kind: 'refused', refusal: { kind: 'bad_signature' } }),
      logRefusal: () => undefined,
      pace: (_response, answer) => {
        paced += 1
        answer()
      },
    },
    createLog('gateway', 'silent'),
  )
  const server = app.listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const status = async (path: string, method = 'POST') =>
    (await post(port, { path, headers: {}, rawBody: Buffer.from('x') }, { method })).status
  const statuses = [await status('/'), await status('/callbacks/paypal/shop1'), await status('/callbacks/alipay/shop2')]
  statuses.push(await status('/callbacks/alipay/%zz'), await status('/callbacks/alipay/shop1'))
  statuses.push(await status('/returns/alipay/shop1', 'GET'), await status('/returns/alipay/shop2', 'GET'))
  expect(statuses).toEqual([404, 404, 404, 404, 401, 200, 404])
  expect(paced).toBe(7)
  isAccepted = true
  expect(await status('/callbacks/alipay/shop1')).toBe(200)
  expect(paced).toBe(7)
  metrics.stop()
  server.close()
})

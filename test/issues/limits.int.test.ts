import { afterAll, beforeAll, expect, test } from 'vitest'
import { head, post, rawConnection } from '../helpers/http.ts'
import { until } from '../helpers/until.ts'
import { startSystem, type System } from './system.ts'

/** What others met when somebody sent again, too much, too slowly or only half of it; here through the whole system. */
let it: System
beforeAll(async () => {
  it = await startSystem()
})
afterAll(() => it.stop())

const SUCCESS = '200 {"code":"SUCCESS","message":"成功"}'
const SHIPPED = ['ship', 'deduct', 'grant']
const agoSec = (sec: number) => new Date(Date.now() - sec * 1_000)

// https://github.com/yansongda/pay/pull/1168 and https://github.com/wechatpay-apiv3/wechatpay-java/issues/324
test('CLK-01, CLK-02: a callback that somebody caught is refused after five minutes, and before that it is a duplicate', async () => {
  await it.create('caught')
  const fresh = it.senders.paid('caught', { at: agoSec(290) })
  expect(await it.post(fresh)).toEqual([SUCCESS])
  expect(await it.post(fresh, fresh)).toEqual([SUCCESS, SUCCESS])
  const old = it.senders.paid('caught', { at: agoSec(302) })
  const ahead = it.senders.paid('caught', { at: agoSec(-310) })
  for (const answer of await it.post(old, ahead)) expect(answer).toMatch(/^4\d\d \{"code":"FAIL"/)
  await it.settled()
  expect(await it.order('caught')).toMatchObject({ events: SHIPPED, deliveries: ['applied', 'duplicate', 'duplicate'] })
})

// https://github.com/open-mercato/open-mercato/issues/4044
test('MEM-01: 2 MiB are refused before they are read, announced or in chunks', async () => {
  const { path, headers } = it.senders.paid('large')
  const announced = await post(it.gateway.port, { path, headers, rawBody: Buffer.alloc(2 * 1_048_576, 'x') })
  expect(announced.status).toBe(413)
  const chunked = await rawConnection(it.gateway.port)
  chunked.write(head(path, { ...headers, 'transfer-encoding': 'chunked' }))
  // 80 KiB of the 2 MiB: the rest is not waited for.
  for (let chunk = 0; chunk < 5; chunk++) chunked.write(`4000\r\n${'x'.repeat(0x4000)}\r\n`)
  await until('it is refused', () => chunked.received().includes(' 413 '))
  chunked.socket.destroy()
})

// https://github.com/adnanh/webhook/issues/756
test('MEM-02: who sends a byte now and then is cut off within seconds, and others are answered meanwhile', async () => {
  await it.create('quick')
  const { path, headers, rawBody } = it.senders.paid('slow')
  const startedMs = performance.now()
  const slow = await Promise.all(Array.from({ length: 20 }, () => rawConnection(it.gateway.port)))
  for (const { write } of slow) write(head(path, { ...headers, 'content-length': rawBody.length }))
  let sent = 0
  const dripping = setInterval(() => {
    for (const { socket } of slow) if (socket.writable) socket.write(rawBody.subarray(sent, sent + 1))
    sent += 1
  }, 500)
  try {
    expect(await it.post(it.senders.paid('quick'))).toEqual([SUCCESS])
    for (const answer of await Promise.all(slow.map(({ closed }) => closed))) expect(answer).not.toContain(' 200 ')
  } finally {
    clearInterval(dripping)
  }
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  await it.settled()
  expect(await it.order('quick')).toMatchObject({ events: SHIPPED })
})

// https://github.com/binarywang/weixin-java-pay-demo/issues/120
test('MEM-04: a body that breaks off is no success and changes nothing; whole again, it is taken', async () => {
  await it.create('broken')
  const callback = it.senders.paid('broken')
  const { path, headers, rawBody } = callback
  const half = await rawConnection(it.gateway.port)
  half.write(head(path, { ...headers, 'content-length': rawBody.length }))
  half.socket.write(rawBody.subarray(0, -1), () => half.socket.resetAndDestroy())
  expect(await half.closed).toBe('')
  await until('it is noted', async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${it.gateway.metricsPort}/metrics`)).text()
    return metrics.includes('incomplete_body')
  })
  expect(await it.post(callback)).toEqual([SUCCESS])
  await it.settled()
  expect(await it.order('broken')).toMatchObject({ events: SHIPPED, deliveries: ['applied'] })
})

import { generateKeyPairSync, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import type { LogLine, QueryLine, SentLine } from '../../chaos/checker/capture.ts'
import { createOpenssl } from '../../chaos/checker/openssl.ts'
import { genuine } from '../../chaos/checker/oracles/genuine.ts'
import type { ReadCallback, Reading } from '../../chaos/checker/reading.ts'

const alipay = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const merchants = {
  m: {
    stripe: {},
    alipay: {
      publicKeyFiles: [
        { text: alipay.publicKey.export({ type: 'spki', format: 'pem' }).toString(), untilMs: 5_000 },
        {
          text: generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({ type: 'spki', format: 'pem' }),
          untilMs: Infinity,
        },
      ],
    },
  },
}
const fact = (amountMinor: number) => ({
  ...{ eventType: 'payment_succeeded', providerRef: 'x:1', paymentRef: null, amountMinor, currency: 'CNY' },
  ...{ amountKind: 'individual', eventTimeMs: 0 },
})
const answer = (provider: string, rawBody: string, receivedAtMs = 10_000): ReadCallback => ({
  record: {
    ...{ topic: 't', partition: 0, offset: 7, timestampMs: 0, key: null, headers: {}, value: null },
  },
  callback: {
    ...{ merchant: 'm', outTradeNo: 'A', provider, source: 'query', receivedAtMs, facts: [fact(100)], instead: null },
    ...{ rawBody: Buffer.from(rawBody), rawHeaders: {} },
  },
  requestSha256: rawBody,
})
const asked = (provider: string, atMs: number, status = 200): QueryLine => ({
  ...{ line: 'query', provider, atMs, latencyMs: 1, asked: 'GET /', status },
})
const told = (amountMinor: number): SentLine => ({
  ...{ line: 'delivery', merchant: 'm', outTradeNo: 'A', atMs: 0, latencyMs: 1, provider: 'alipay', defect: 'none' },
  ...{ gateway: 'g', status: 200, heard: 'success', facts: [{ ...fact(amountMinor), outTradeNo: 'A' }] },
})
async function clausesOf(callback: ReadCallback, log: readonly LogLine[], sent: readonly SentLine[] = []) {
  const reading = { callbacks: [callback], sentBy: new Map(), merchants, log, sent } as unknown as Reading
  const { violations } = await genuine(createOpenssl()).check(reading)
  return violations.map(({ clause }) => clause)
}
const signedBody = (content: string, by = alipay.privateKey) =>
  `{"alipay_trade_query_response":${content},"sign":"${sign('RSA-SHA256', Buffer.from(content), by).toString('base64')}"}`
const CONTENT = '{"code":"10000","trade_no":"1\\/2","sign":"no"}'

test("an answer's text is verified by openssl as it lies in the body, also by a key that was at its end since", async () => {
  expect(await clausesOf(answer('alipay', signedBody(CONTENT)), [asked('alipay', 9_000)])).toEqual([])
  const forged = signedBody(CONTENT).replace('10000', '10001')
  expect(await clausesOf(answer('alipay', forged), [asked('alipay', 9_000)])).toEqual(['signature_invalid'])
  const late = answer('alipay', signedBody(CONTENT), 60_000)
  expect(await clausesOf(late, [asked('alipay', 9_000)])).toEqual(['signature_invalid'])
})

test('an answer for which nobody had asked by then is a stranger', async () => {
  const nobody = ['stranger_published']
  expect(await clausesOf(answer('stripe', '{}'), [asked('stripe', 9_000)])).toEqual([])
  expect(await clausesOf(answer('stripe', '{}'), [])).toEqual(nobody)
  expect(await clausesOf(answer('stripe', '{}'), [asked('alipay', 9_000)])).toEqual(nobody)
  expect(await clausesOf(answer('stripe', '{}'), [asked('stripe', 11_000)])).toEqual(nobody)
  expect(await clausesOf(answer('stripe', '{}'), [asked('stripe', 9_000, 500)])).toEqual(nobody)
})

test('an answer that says another amount than the callbacks is reported', async () => {
  const log = [asked('stripe', 9_000)]
  expect(await clausesOf(answer('stripe', '{}'), log, [told(100)])).toEqual([])
  expect(await clausesOf(answer('stripe', '{}'), log, [told(99)])).toEqual(['facts_differ'])
})

test('only an answer may be unsigned, and only of Stripe', async () => {
  const { callback, ...rest } = answer('stripe', '{}')
  const callbackOnly = { ...rest, callback: { ...callback, source: 'callback' } }
  expect(await clausesOf(callbackOnly, [asked('stripe', 9_000)])).toContain('signature_invalid')
  expect(await clausesOf(answer('alipay', '{"a_response":{}}'), [asked('alipay', 9_000)])).toContain(
    'signature_invalid',
  )
})

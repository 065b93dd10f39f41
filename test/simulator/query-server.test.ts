import { createPrivateKey, createPublicKey, verify as verifyRsa } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import * as alipay from '../../src/providers/alipay/facts-of-query.ts'
import { signRequest } from '../../src/providers/alipay/sign-request.ts'
import type { Fields } from '../../src/providers/fields.ts'
import * as stripe from '../../src/providers/stripe/facts-of-query.ts'
import { apiKey } from '../../src/providers/wechatpay-v2/api-key.ts'
import * as v2 from '../../src/providers/wechatpay-v2/facts-of-query.ts'
import { parseFlatXml } from '../../src/providers/wechatpay-v2/parse-flat-xml.ts'
import { signFields, xmlRequest, type NoticeFields } from '../../src/providers/wechatpay-v2/sign.ts'
import { isSignedBy, signedContent } from '../../src/providers/wechatpay-v2/signature.ts'
import { authorize } from '../../src/providers/wechatpay/authorize.ts'
import * as v3 from '../../src/providers/wechatpay/facts-of-query.ts'
import type { Recipient } from '../../src/providers/wechatpay/recipient.ts'
import { signedMessage } from '../../src/providers/wechatpay/verify.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'
import { factsOfCallback } from '../../src/simulator/facts-of-callback.ts'
import type { SenderKeys } from '../../src/simulator/keys.ts'
import type { QueryLine } from '../../src/simulator/log.ts'
import { planOf } from '../../src/simulator/plan.ts'
import type { PlannedCallback } from '../../src/simulator/planned.ts'
import { serveQueries, type QueryServer } from '../../src/simulator/query-server.ts'
import type { PaymentProvider } from '../../src/simulator/stories.ts'
import { truthOf } from '../../src/simulator/truth.ts'
import { post } from '../helpers/http.ts'

const START = new Date('2026-03-04T05:06:07Z')
const dateOf = (atMs: number) => new Date(Math.floor((START.getTime() + atMs) / 1_000) * 1_000)
/** An hour after the run began: all has happened. */
const AFTER = new Date(START.getTime() + 3_600_000)
let now = AFTER
const clock: Clock = { now: () => now, elapsedMs: () => performance.now() }
const directory = mkdtempSync(join(tmpdir(), 'queries-'))
const stories = {
  refund_failed: 0.1,
  refunded_partly: 0.1,
  refunded_fully: 0.1,
  combined: 0.1,
  disputed: 0.1,
  closed: 0.1,
  // What is invented, no provider knows of (truth.test.ts).
  ...{ forged: 0, stale: 0, stranger: 0 },
}
const orders = planOf({
  ...{ seed: 11, runId: 'Q', merchants: ['shop', 'books'], orders: 400, deliveriesPerOrder: 1 },
  ...{ spreadMs: 10_000, againMs: 10_000, stories: { ...stories, second_payment: 0, payment_failed: 0.1 } },
  providers: { wechatpay: 1, 'wechatpay-v2': 1, alipay: 1, stripe: 1 },
})
const asked: QueryLine[] = []
let server: QueryServer
let keys: SenderKeys[] = []
beforeAll(async () => {
  keys = await createKeys({ merchantsDir: directory, sendersDir: directory }, ['shop', 'books'], START, {
    partners: ['books'],
  })
  const truth = truthOf(orders, dateOf, clock)
  server = await serveQueries({ port: 0, keys, truth, clock, record: (line) => asked.push(line) })
}, 120_000)
afterAll(async () => {
  await server.close()
  rmSync(directory, { recursive: true })
})

interface Told {
  readonly merchant: string
  readonly callback: PlannedCallback
}
const told = (provider: PaymentProvider, ...events: PlannedCallback['event'][]): Told[] =>
  orders
    .flatMap(({ merchant, callbacks }) => callbacks.map((callback) => ({ merchant, callback })))
    .filter(({ callback: { event, transaction } }) => transaction.provider === provider && events.includes(event))
const keysOf = (merchant: string) => {
  const found = keys.find((one) => one.merchant === merchant)
  if (found === undefined) throw new Error(`no keys of ${merchant}`)
  return found
}
const privateKeyOf = (merchant: string, provider: string) =>
  createPrivateKey(readFileSync(join(directory, 'queries', `${merchant}.${provider}.pem`)))
/** What must be the same wherever a fact is learnt. */
const identity = ({ eventType, providerRef, paymentRef, amountMinor, currency, amountKind }: Omit<Fact, 'detail'>) => ({
  ...{ eventType, providerRef, paymentRef, amountMinor, currency, amountKind },
})
const proven = (facts: readonly Fact[] | string) => (typeof facts === 'string' ? facts : facts.map(identity))
const stated = ({ callback }: Told) =>
  factsOfCallback(callback, dateOf)
    .filter(({ outTradeNo }) => outTradeNo === callback.transaction.outTradeNo)
    .map(identity)
const refundNo = ({ callback: { refund } }: Told) => refund?.outRefundNo ?? ''

describe('WeChat Pay v3', () => {
  const namesOf = (merchant: string) => {
    const { mchid, partner } = keysOf(merchant).wechatpay
    return { spMchid: partner?.spMchid, mchid, name: partner?.spMchid ?? mchid }
  }
  const recipient = (merchant: string): Recipient => {
    const { mchid, appid, partner } = keysOf(merchant).wechatpay
    const none = new Set<string>()
    return partner === null
      ? { mchid, appids: new Set([appid]), subMchids: none, subAppids: none }
      : { mchid: partner.spMchid, appids: new Set([partner.spAppid]), subMchids: new Set([mchid]), subAppids: none }
  }
  /** Asks, and believes only what is signed. */
  async function ask(merchant: string, path: string): Promise<{ status: number; answer: Fields }> {
    const { name, spMchid, mchid } = namesOf(merchant)
    const query = spMchid === undefined ? `mchid=${mchid}` : `sp_mchid=${spMchid}&sub_mchid=${mchid}`
    const { serial } = keysOf(merchant).wechatpay.apiCertificate
    const caller = { mchid: name, serial, privateKey: privateKeyOf(merchant, 'wechatpay') }
    const authorization = authorize({ method: 'GET', path: `${path}?${query}` }, caller, now)
    const response = await fetch(`${server.url}${path}?${query}`, { headers: { authorization } })
    const body = await response.text()
    const header = (part: string) => response.headers.get(`wechatpay-${part}`) ?? ''
    const platform = keysOf(merchant).wechatpay.platforms.find(({ value }) => value.serial === header('serial'))
    if (platform === undefined) throw new Error(`signed by ${header('serial')}`)
    const message = signedMessage(header('timestamp'), header('nonce'), Buffer.from(body))
    const signature = Buffer.from(header('signature'), 'base64')
    expect(verifyRsa('RSA-SHA256', message, createPublicKey(platform.value.privateKey), signature)).toBe(true)
    return { status: response.status, answer: JSON.parse(body) as Fields }
  }

  test('answers an order’s query with the facts of its callback', async () => {
    for (const one of told('wechatpay', 'payment')) {
      const { outTradeNo, transactionId } = one.callback.transaction
      const partner = one.merchant === 'books' ? 'partner/' : ''
      const to = recipient(one.merchant)
      for (const path of [`out-trade-no/${outTradeNo}`, `id/${transactionId}`]) {
        const { answer } = await ask(one.merchant, `/v3/pay/${partner}transactions/${path}`)
        expect(proven(v3.factsOfPaymentQuery(answer, to, now))).toEqual(stated(one))
      }
    }
  })

  test('answers for every order of a combined payment', async () => {
    const combined = told('wechatpay', 'payment').filter(({ callback }) => callback.transaction.form === 'combined')
    expect(combined.length).toBeGreaterThan(3)
    for (const { merchant, callback } of combined) {
      const path = `/v3/combine-transactions/out-trade-no/C${callback.transaction.outTradeNo}`
      const found = v3.factsOfCombinedQuery((await ask(merchant, path)).answer, recipient(merchant), now)
      if (typeof found === 'string') throw new Error(found)
      const facts = found.flatMap((order) =>
        order.facts.map((fact) => ({ outTradeNo: order.outTradeNo, ...identity(fact) })),
      )
      const wanted = factsOfCallback(callback, dateOf)
      expect(facts).toEqual(wanted.map((fact) => ({ outTradeNo: fact.outTradeNo, ...identity(fact) })))
    }
  })

  test('answers a refund’s query with the fact of its callback', async () => {
    const refunds = told('wechatpay', 'refund', 'refund_abnormal', 'refund_closed')
    expect(new Set(refunds.map(({ callback }) => callback.event)).size).toBe(3)
    for (const one of refunds) {
      const { answer } = await ask(one.merchant, `/v3/refund/domestic/refunds/${refundNo(one)}`)
      expect(proven(v3.factsOfRefundQuery(answer, now))).toEqual(stated(one))
    }
  })

  test('says what it does not know, and not to strangers', async () => {
    expect(await ask('shop', '/v3/pay/transactions/out-trade-no/nobody')).toMatchObject({
      ...{ status: 404, answer: { code: 'ORDER_NOT_EXIST' } },
    })
    expect((await ask('shop', '/v3/refund/domestic/refunds/none')).answer).toMatchObject({
      code: 'RESOURCE_NOT_EXISTS',
    })
    const [one] = told('wechatpay', 'payment')
    const path = `/v3/pay/transactions/out-trade-no/${one?.callback.transaction.outTradeNo}`
    expect((await fetch(`${server.url}${path}`)).status).toBe(401)
    const other = one?.merchant === 'shop' ? 'books' : 'shop'
    expect((await ask(other, path)).status).toBe(404)
  })

  test('knows an order that is not paid yet, and no payment of it', async () => {
    const [one] = told('wechatpay', 'payment')
    if (one === undefined) throw new Error('no payment')
    const path = `/v3/pay/transactions/out-trade-no/${one.callback.transaction.outTradeNo}`
    now = new Date(START.getTime() - 60_000)
    const { answer } = await ask(one.merchant, path)
    now = AFTER
    expect(answer).toMatchObject({ trade_state: 'NOTPAY' })
    expect(v3.factsOfPaymentQuery(answer, recipient(one.merchant), now)).toEqual([])
  })
})

describe('WeChat Pay v2', () => {
  const recipient = (merchant: string) => {
    const { mchid, appid, partner } = keysOf(merchant).wechatpay
    return partner === null
      ? { appid, mch_id: mchid }
      : { appid: partner.spAppid, mch_id: partner.spMchid, sub_mch_id: mchid }
  }
  const to = (merchant: string): Recipient => {
    const { mchid, appid, partner } = keysOf(merchant).wechatpay
    const [own, app] = partner === null ? [mchid, appid] : [partner.spMchid, partner.spAppid]
    return { mchid: own, appids: new Set([app]), subMchids: new Set(partner && [mchid]), subAppids: new Set() }
  }
  async function ask(merchant: string, path: string, fields: NoticeFields, key = secretOf(merchant)) {
    const signed = signFields({ ...recipient(merchant), nonce_str: 'n', ...fields }, key, 'HMAC-SHA256')
    const { headers, rawBody } = xmlRequest(signed)
    const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: rawBody.toString() })
    const answer = parseFlatXml(Buffer.from(await response.text()), 'xml')
    if (typeof answer === 'string') throw new Error(answer)
    return answer
  }
  const secretOf = (merchant: string) => apiKey(keysOf(merchant).wechatpayV2.apiKeys[0]?.value ?? '')

  test('answers an order’s query with the facts of its callback, signed', async () => {
    for (const one of told('wechatpay-v2', 'payment')) {
      const { outTradeNo } = one.callback.transaction
      const answer = await ask(one.merchant, '/pay/orderquery', { out_trade_no: outTradeNo })
      expect(isSignedBy(answer, signedContent(answer), 'HMAC-SHA256', secretOf(one.merchant))).toBe(true)
      expect(proven(v2.factsOfPaymentQuery(answer, to(one.merchant), now))).toEqual(stated(one))
    }
  })

  test('proves the refunds that its notices only hint at', async () => {
    const refunds = told('wechatpay-v2', 'refund')
    expect(refunds.length).toBeGreaterThan(5)
    for (const one of refunds) {
      const answer = await ask(one.merchant, '/pay/refundquery', { out_refund_no: refundNo(one) })
      const { refund, transaction } = one.callback
      expect(proven(v2.factsOfRefundQuery(answer, to(one.merchant), now))).toEqual([
        {
          ...{ eventType: 'refund_succeeded', providerRef: `wechatpay:${refund?.refundId}`, currency: 'CNY' },
          ...{ paymentRef: `wechatpay:${transaction.transactionId}`, amountMinor: refund?.amountMinor },
          amountKind: 'individual',
        },
      ])
      const all = await ask(one.merchant, '/pay/refundquery', { out_trade_no: transaction.outTradeNo })
      expect(v2.factsOfRefundQuery(all, to(one.merchant), now)).toHaveLength(transaction.refunds.length)
    }
  })

  test('answers nobody who does not sign with its key', async () => {
    const [one] = told('wechatpay-v2', 'payment')
    const fields = { out_trade_no: one?.callback.transaction.outTradeNo ?? '' }
    const answer = await ask(one?.merchant ?? '', '/pay/orderquery', fields, apiKey('0'.repeat(32)))
    expect(answer.get('return_code')).toBe('FAIL')
    expect((await ask('shop', '/pay/orderquery', { out_trade_no: 'nobody' })).get('err_code')).toBe('ORDERNOTEXIST')
  })
})

describe('Alipay', () => {
  async function ask(merchant: string, method: string, content: object): Promise<Fields> {
    const { appId, keys: ring } = keysOf(merchant).alipay
    const { path, body } = signRequest(method, content, { appId, privateKey: privateKeyOf(merchant, 'alipay') }, now)
    const contentType = 'application/x-www-form-urlencoded;charset=utf-8'
    const response = await fetch(server.url + path, { method: 'POST', body, headers: { 'content-type': contentType } })
    const text = await response.text()
    const node = `${method.replaceAll('.', '_')}_response`
    const signed = text.slice(text.indexOf(':') + 1, text.lastIndexOf(',"sign"'))
    const { sign, [node]: answer } = JSON.parse(text) as Record<string, unknown>
    const key = ring[0]?.value
    if (key === undefined) throw new Error('no key')
    const signature = Buffer.from(String(sign), 'base64')
    expect(verifyRsa('RSA-SHA256', Buffer.from(signed), createPublicKey(key), signature)).toBe(true)
    return answer as Fields
  }

  test('answers a trade’s query with the facts of its notices; of a closed one with none, as it may have been paid', async () => {
    for (const one of told('alipay', 'payment', 'closed')) {
      const { outTradeNo, refunds, amountMinor } = one.callback.transaction
      const facts = alipay.factsOfPaymentQuery(
        await ask(one.merchant, 'alipay.trade.query', { out_trade_no: outTradeNo }),
        now,
      )
      const isGone = refunds.reduce((sum, refund) => sum + refund.amountMinor, 0) === amountMinor
      // What was refunded in full is told with its payment, as its last notice tells it.
      const last = told('alipay', 'refund').find(({ callback: { refund } }) => refund === refunds.at(-1))
      if (one.callback.event === 'closed') expect(facts).toEqual([])
      else expect(proven(facts)).toEqual(stated(isGone && last !== undefined ? last : one))
    }
  })

  test('answers a refund’s query with its own amount and the time of the notice’s figure', async () => {
    const refunds = told('alipay', 'refund')
    expect(refunds.length).toBeGreaterThan(5)
    for (const one of refunds) {
      const { transaction, refund } = one.callback
      const content = { out_trade_no: transaction.outTradeNo, out_request_no: refundNo(one) }
      const asking = { ...content, query_options: ['gmt_refund_pay'] }
      const facts = alipay.factsOfRefundQuery(await ask(one.merchant, 'alipay.trade.fastpay.refund.query', asking))
      expect(facts).toMatchObject([
        {
          providerRef: `alipay:${transaction.transactionId}/refund/${refundNo(one)}`,
          ...{
            amountMinor: refund?.amountMinor,
            amountKind: 'individual',
            eventTimeMs: dateOf(refund?.atMs ?? 0).getTime(),
          },
        },
      ])
      const bare = await ask(one.merchant, 'alipay.trade.fastpay.refund.query', content)
      expect(alipay.factsOfRefundQuery(bare)).toBe('gmt_refund_pay')
    }
  })

  test('knows no trade before somebody pays, and no refund that never was', async () => {
    const [one] = told('alipay', 'payment')
    const trade = { out_trade_no: one?.callback.transaction.outTradeNo }
    expect(await ask('shop', 'alipay.trade.query', { out_trade_no: 'nobody' })).toMatchObject({
      sub_code: 'ACQ.TRADE_NOT_EXIST',
    })
    const none = await ask(one?.merchant ?? '', 'alipay.trade.fastpay.refund.query', { ...trade, out_request_no: 'x' })
    expect(alipay.factsOfRefundQuery(none)).toEqual([])
    const stranger = await fetch(`${server.url}/gateway.do`, {
      method: 'POST',
      body: new URLSearchParams({ app_id: '1' }),
    })
    expect(await stranger.text()).toContain('isv.invalid-signature')
  })
})

describe('Stripe', () => {
  const get = async (merchant: string, path: string) => {
    const headers = { authorization: `Bearer ${keysOf(merchant).stripe.apiKey}` }
    const response = await fetch(`${server.url}${path}`, { headers })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> & { data?: unknown[] } }
  }

  test('answers for payments, refunds, charges and disputes with the facts of its events', async () => {
    for (const one of told('stripe', 'payment', 'refund', 'refund_abnormal', 'dispute')) {
      const { event, transaction, refund } = one.callback
      const path = {
        payment: `/v1/payment_intents/${transaction.transactionId}?expand[]=latest_charge`,
        dispute: `/v1/disputes/${transaction.disputeId}`,
      }
      const { body } = await get(
        one.merchant,
        event === 'payment' || event === 'dispute' ? path[event] : `/v1/refunds/${refund?.refundId}`,
      )
      const facts =
        event === 'payment'
          ? stripe.factsOfPaymentIntent(body, now)
          : event === 'dispute'
            ? stripe.factsOfDispute(body)
            : stripe.factsOfRefund(body, now)
      expect(proven(facts), event).toEqual(stated(one))
    }
    for (const one of told('stripe', 'refund_total')) {
      const { transaction, refund } = one.callback
      if (refund !== transaction.refunds.at(-1)) continue
      const { body } = await get(one.merchant, `/v1/charges/ch_${transaction.transactionId.slice(3)}`)
      expect(proven(stripe.factsOfCharge(body, now))).toEqual(stated(one))
    }
  })

  test('finds a payment by the order’s number, and a payment’s refunds', async () => {
    const one = told('stripe', 'refund').find(({ callback }) => callback.transaction.refunds.length === 2)
    if (one === undefined) throw new Error('no payment with two refunds')
    const { outTradeNo, transactionId } = one.callback.transaction
    const query = encodeURIComponent(`metadata['out_trade_no']:'${outTradeNo}'`)
    const { body } = await get(one.merchant, `/v1/payment_intents/search?query=${query}`)
    expect(body.data).toMatchObject([{ id: transactionId }])
    const refunds = await get(one.merchant, `/v1/refunds?payment_intent=${transactionId}`)
    expect(refunds.body.data).toHaveLength(2)
  })

  test('keeps accounts apart', async () => {
    const [one] = told('stripe', 'payment')
    const path = `/v1/payment_intents/${one?.callback.transaction.transactionId}`
    expect((await get(one?.merchant === 'shop' ? 'books' : 'shop', path)).status).toBe(404)
    expect((await fetch(`${server.url}${path}`)).status).toBe(401)
  })
})

test('a question that another key signed, or that was signed over something else, is nobody’s', async () => {
  const path = '/v3/pay/transactions/out-trade-no/T1?mchid=1'
  const { mchid, apiCertificate } = keysOf('shop').wechatpay
  const own = { mchid, serial: apiCertificate.serial, privateKey: privateKeyOf('shop', 'wechatpay') }
  const statusOf = async (caller: typeof own, signedPath = path, at = now) => {
    const authorization = authorize({ method: 'GET', path: signedPath }, caller, at)
    return (await fetch(server.url + path, { headers: { authorization } })).status
  }
  expect(await statusOf(own)).toBe(404)
  expect(await statusOf({ ...own, privateKey: privateKeyOf('books', 'wechatpay') })).toBe(401)
  expect(await statusOf({ ...own, serial: 'AB' })).toBe(401)
  expect(await statusOf(own, `${path}&more=1`)).toBe(401)
  expect(await statusOf(own, path, new Date(now.getTime() - 301_000))).toBe(401)

  const { appId } = keysOf('shop').alipay
  const content = { out_trade_no: 'T1' }
  const answerTo = async (privateKey: typeof own.privateKey, change = (body: string) => body) => {
    const { path: address, body } = signRequest('alipay.trade.query', content, { appId, privateKey }, now)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return (await fetch(server.url + address, { method: 'POST', body: change(body), headers })).text()
  }
  const key = privateKeyOf('shop', 'alipay')
  expect(await answerTo(key)).toContain('ACQ.TRADE_NOT_EXIST')
  expect(await answerTo(privateKeyOf('books', 'alipay'))).toContain('isv.invalid-signature')
  expect(await answerTo(key, (body) => body.replace('T1', 'T2'))).toContain('isv.invalid-signature')
})

test('every question is told, and an unknown address is none', async () => {
  const count = asked.length
  expect((await fetch(`${server.url}/nowhere`)).status).toBe(404)
  expect((await fetch(`${server.url}/v1/payment_intents/pi_none`)).status).toBe(401)
  expect(asked).toHaveLength(count + 1)
  expect(asked.at(-1)).toMatchObject({
    line: 'query',
    provider: 'stripe',
    asked: 'GET /v1/payment_intents/pi_none',
    status: 401,
  })
})

test('an address that is none ends its own connection, and not the simulator', async () => {
  const { port } = new URL(server.url)
  const nothing = { headers: {}, rawBody: Buffer.alloc(0) }
  await expect(post(Number(port), { path: '//', ...nothing })).rejects.toThrow('socket hang up')
  expect((await post(Number(port), { path: '/nothing', ...nothing })).status).toBe(404)
})

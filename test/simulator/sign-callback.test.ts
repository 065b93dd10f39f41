import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadMerchants, type Merchants } from '../../src/providers/merchants.ts'
import type { Verdict } from '../../src/providers/provider.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'
import { factsOfCallback } from '../../src/simulator/facts-of-callback.ts'
import type { SenderKeys } from '../../src/simulator/keys.ts'
import { planOf } from '../../src/simulator/plan.ts'
import type { CallbackEvent, Defect, PlannedCallback } from '../../src/simulator/planned.ts'
import type { SignedRequest } from '../../src/simulator/delivered.ts'
import { isSuccess } from '../../src/simulator/is-success.ts'
import { signCallback } from '../../src/simulator/sign-callback.ts'
import { reportFact, signReport } from '../../src/simulator/sign-report.ts'
import { PAYMENT_PROVIDERS, type PaymentProvider } from '../../src/simulator/stories.ts'

const NOW = new Date('2026-03-04T05:06:07.890Z')
const MS = NOW.getTime()
const rotation = { newFromMs: MS - 60_000, oldUntilMs: MS - 30_000, oldEndMs: MS - 17_890 }
const directory = mkdtempSync(join(tmpdir(), 'sign-'))
const dateOf = (atMs: number) => new Date(Math.floor((MS - 60_000 + atMs) / 1_000) * 1_000)
let merchants: Merchants
const keysOf = new Map<string, SenderKeys>()
beforeAll(async () => {
  const where = { merchantsDir: directory, sendersDir: join(directory, 'senders') }
  const made = await createKeys(where, ['shop', 'books'], NOW, { partners: ['books'], rotation })
  for (const keys of made) keysOf.set(keys.merchant, keys)
  merchants = loadMerchants(directory)
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Rare ones often enough to be met. */
const stories = {
  refund_failed: 0.05,
  disputed: 0.05,
  payment_failed: 0.05,
  waiting: 0.05,
  finished: 0.05,
  closed: 0.05,
}

/** Every story of every provider, told to a merchant of its own and to a partner's. */
const callbacks = PAYMENT_PROVIDERS.flatMap((provider) =>
  planOf({
    ...{ seed: 5, runId: 'V', merchants: ['shop', 'books'], orders: 400, deliveriesPerOrder: 1 },
    ...{ spreadMs: 10_000, againMs: 10_000, providers: { [provider]: 1 }, stories },
  }).flatMap((order) => order.callbacks.map((callback) => ({ merchant: order.merchant, callback }))),
)
const keysFor = (merchant: string) => {
  const keys = keysOf.get(merchant)
  if (keys === undefined) throw new Error(`no keys of ${merchant}`)
  return keys
}
const verify = (provider: string, merchant: string, { headers, rawBody }: SignedRequest, now = NOW): Verdict => {
  const bound = merchants.find(provider, merchant)
  if (bound === undefined) throw new Error(`${merchant} does not use ${provider}`)
  return bound.verify({ headers, repeatedHeaders: [], rawBody }, now)
}
const sign = (callback: PlannedCallback, merchant: string, defect: Defect = 'none', at = NOW) =>
  signCallback({ callback, defect, at, dateOf }, keysFor(merchant))

const withoutDetail = (fact: object) => Object.fromEntries(Object.entries(fact).filter(([name]) => name !== 'detail'))

/** What a verdict proves, without what is for people only. */
const proven = (verdict: Verdict) =>
  verdict.kind === 'refused'
    ? verdict.rejection
    : verdict.messages.flatMap(({ outTradeNo, facts }) => facts.map((fact) => ({ outTradeNo, ...withoutDetail(fact) })))

describe.for(PAYMENT_PROVIDERS)('%s', (provider) => {
  const mine = callbacks.filter(({ callback }) => callback.transaction.provider === provider)

  test('proves what its sender says that it does, in every event and form', () => {
    for (const { merchant, callback } of mine) {
      const signed = sign(callback, merchant)
      expect(signed.path).toBe(`/callbacks/${provider}/${merchant}`)
      expect(proven(verify(provider, merchant, signed)), callback.event).toEqual(factsOfCallback(callback, dateOf))
    }
  })

  test('has each of its events, and no other merchant takes them', () => {
    const events = new Set(mine.map(({ callback }) => callback.event))
    expect([...events].sort()).toEqual([...EVENTS[provider]].sort())
    for (const { merchant, callback } of mine.slice(0, 20)) {
      const other = merchant === 'shop' ? 'books' : 'shop'
      expect(verify(provider, other, sign(callback, merchant)).kind).toBe('refused')
    }
  })

  test('is refused with each of its defects', () => {
    const [payment] = mine.filter(
      ({ callback: { event, transaction } }) => event === 'payment' && transaction.form === 'plain',
    )
    if (payment === undefined) throw new Error('no payment')
    const { callback, merchant } = payment
    for (const [defect, kind] of Object.entries(DEFECTS[provider]))
      expect(verify(provider, merchant, sign(callback, merchant, defect as Defect)), defect).toMatchObject({
        rejection: { kind },
      })
    const before = new Date(rotation.oldEndMs - 5_000)
    const old = sign(callback, merchant, 'retired_key', before)
    // The retired key was good until its end.
    expect(verify(provider, merchant, old, before).kind).toBe('verified')
  })
})

test.for(PAYMENT_PROVIDERS)('%s: no body that is made to hurt is taken for genuine', (provider) => {
  const [payment] = callbacks.filter(({ callback }) => callback.transaction.provider === provider)
  if (payment === undefined) throw new Error('no payment')
  const bodies = new Set<string>()
  for (let n = 0; n < 10; n++) {
    const signed = sign(
      { ...payment.callback, messageId: `n${n.toString(16).padStart(30, '0')}` },
      payment.merchant,
      'hostile',
    )
    bodies.add(`${signed.rawBody.length} ${signed.rawBody.subarray(0, 8).toString('hex')}`)
    // What is too large, a gateway never gives to a provider's code.
    if (signed.rawBody.length <= 65_536) expect(verify(provider, payment.merchant, signed).kind).toBe('refused')
  }
  expect(bodies.size).toBeGreaterThanOrEqual(5)
})

const EVENTS: Record<PaymentProvider, CallbackEvent[]> = {
  wechatpay: ['payment', 'refund', 'refund_abnormal', 'refund_closed'],
  'wechatpay-v2': ['payment', 'refund'],
  alipay: ['payment', 'waiting', 'finished', 'closed', 'refund'],
  stripe: ['payment', 'payment_failed', 'refund', 'refund_total', 'refund_abnormal', 'dispute'],
  'standard-webhooks': ['payment', 'payment_failed', 'refund', 'refund_abnormal', 'dispute'],
}
const bad = { wrong_signature: 'bad_signature', retired_key: 'bad_signature' } as const
const DEFECTS: Record<PaymentProvider, Partial<Record<Defect, string>>> = {
  wechatpay: {
    ...{ wrong_signature: 'bad_signature', retired_key: 'unknown_key', stale_timestamp: 'stale' },
    ...{ probe: 'signature_probe', stranger: 'wrong_recipient' },
  },
  'wechatpay-v2': { ...bad, stranger: 'wrong_recipient' },
  alipay: { ...bad, stranger: 'wrong_recipient' },
  stripe: { ...bad, stale_timestamp: 'stale', stranger: 'wrong_recipient' },
  'standard-webhooks': { ...bad, stale_timestamp: 'stale' },
}

test.for(['shipment_completed', 'fulfillment_failed', 'goods_returned'] as const)('a worker reports %s', (type) => {
  const reported = { type, outTradeNo: 'T-1', paymentRef: 'wechatpay:1', happenedAt: NOW }
  const verdict = verify('worker', 'shop', signReport(reported, keysFor('shop'), NOW))
  expect(proven(verdict)).toEqual([reportFact(reported)])
})

test('both kinds of key sign for WeChat Pay, and both forms are met', () => {
  const signed = callbacks
    .filter(({ callback }) => callback.transaction.provider === 'wechatpay')
    .map(({ merchant, callback }, n) => sign(callback, merchant, 'none', new Date(MS + n)))
  const serials = new Set(signed.map(({ headers }) => headers['wechatpay-serial']?.startsWith('PUB_KEY_ID_')))
  expect(serials).toEqual(new Set([true, false]))
  const forms = new Set(callbacks.map(({ callback }) => callback.transaction.form))
  expect(forms).toEqual(new Set(['plain', 'combined', 'gbk']))
})

test('only the exact answer is success', () => {
  expect(isSuccess('alipay', 200, 'text/plain; charset=utf-8', 'success')).toBe(true)
  for (const [status, type, body] of [
    [204, 'text/plain', 'success'],
    [200, 'text/html', 'success'],
    [200, 'text/plain', 'success\n'],
    [200, 'text/plain', '\ufeffsuccess'],
    [200, 'text/plain', ''],
  ] as const)
    expect(isSuccess('alipay', status, type, body)).toBe(false)
})

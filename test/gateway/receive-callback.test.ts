import { expect, test } from 'vitest'
import type { BatchPublisher, Published } from '../../src/gateway/batch-publisher.ts'
import type { Sift } from '../../src/gateway/filter/sift.ts'
import { createReceive, type Received, type Target } from '../../src/gateway/receive-callback.ts'
import type { Verdict, VerifiedMessage } from '../../src/providers/provider.ts'
import { createLog } from '../../src/runtime/log.ts'
import type { Callback } from '../../src/schemas/callback.ts'
import type { Codec } from '../../src/schemas/codec.ts'

const NOW = new Date('2026-01-02T03:04:05.678Z')
const ACKED: Published = { kind: 'acked' }
const message = (change: Partial<VerifiedMessage> = {}): VerifiedMessage => ({
  ...{ outTradeNo: 'T1', messageType: 'TRANSACTION.SUCCESS', messageId: 'EV-1', facts: [], ...change },
})

type Sent = Parameters<BatchPublisher['publish']>[0]

/** A publisher that keeps what it is given and answers as the test says; a codec that keeps the callback readable. */
function harness(
  verify: () => Verdict,
  answers: (Published | Promise<Published>)[] = [],
  elapsedMs: () => number = () => 0,
  sift?: Sift,
) {
  const sent: Sent[] = []
  const callbacks: Callback[] = []
  const publisher: BatchPublisher = {
    publish: (record, _deadlineAtMs, settle) => {
      sent.push(record)
      void Promise.resolve(answers[sent.length - 1] ?? ACKED).then(settle)
    },
    close: () => Promise.resolve(),
    pending: () => ({ records: 0, bytes: 0 }),
  }
  const codec: Pick<Codec, 'encode'> = {
    encode: (_topic, value) => {
      callbacks.push(value as Callback)
      return Buffer.from('encoded')
    },
  }
  const clock = { now: () => NOW, elapsedMs }
  const receive = createReceive(publisher, codec as Codec, clock, createLog('test', 'silent'), undefined, sift)
  const target: Target = {
    ...{ provider: 'wechatpay', merchant: 'shop1', source: 'callback' },
    bound: { signedHeaders: ['wechatpay-serial', 'wechatpay-nonce'], verify },
  }
  const headers = { 'wechatpay-serial': 'S', authorization: 'secret', 'content-type': 'application/json' }
  const send = (more: Record<string, string> = {}, to = target) =>
    new Promise<Received>((resolve) => {
      const request = { headers: { ...headers, ...more }, repeatedHeaders: [], rawBody: Buffer.from('body') }
      receive(to, request, 4_000, resolve)
    })
  return { send, sent, callbacks, target }
}

test('a verified message becomes one record under its order, with the raw bytes and the signed headers alone', async () => {
  const { send, sent, callbacks } = harness(() => ({ kind: 'verified', messages: [message()] }))
  const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  expect(await send({ traceparent: trace })).toEqual({ kind: 'accepted' })
  expect(sent).toEqual([
    {
      key: 'T1',
      value: Buffer.from('encoded'),
      headers: {
        traceparent: expect.stringMatching(/^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/) as string,
      },
    },
  ])
  expect(callbacks).toEqual([
    {
      ...{ merchant: 'shop1', outTradeNo: 'T1', provider: 'wechatpay', source: 'callback' },
      ...{ messageType: 'TRANSACTION.SUCCESS', messageId: 'EV-1', receivedAtMs: NOW.getTime(), facts: [] },
      instead: null,
      rawBody: Buffer.from('body'),
      rawHeaders: { 'wechatpay-serial': 'S' },
    },
  ])
})

test.for([
  [{ kind: 'no_effect' }, { kind: 'no_effect', ref: null }],
  [
    { kind: 'hint', ref: 'refund:R-2' },
    { kind: 'hint', ref: 'refund:R-2' },
  ],
] as const)('why a message states no fact goes with it: %o', async ([instead, published]) => {
  const { send, callbacks } = harness(() => ({ kind: 'verified', messages: [message({ instead })] }))
  expect(await send()).toEqual({ kind: 'accepted' })
  expect(callbacks).toMatchObject([{ facts: [], instead: published }])
})

test('a message without an order is published too, under its own id', async () => {
  const { send, sent } = harness(() => ({ kind: 'verified', messages: [message({ outTradeNo: null })] }))
  expect(await send()).toEqual({ kind: 'accepted' })
  expect(sent[0]?.key).toBe('EV-1')
})

test('a combined payment is accepted when all its records are acknowledged, and not before', async () => {
  let ack: (published: Published) => void = () => undefined
  const last = new Promise<Published>((resolve) => (ack = resolve))
  const messages = [message({ outTradeNo: 'A' }), message({ outTradeNo: 'B' })] as const
  const { send, sent } = harness(() => ({ kind: 'verified', messages }), [ACKED, last])
  let answered = false
  const received = send().finally(() => (answered = true))
  while (sent.length < 2) await new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
  expect(answered).toBe(false)
  ack(ACKED)
  expect(await received).toEqual({ kind: 'accepted' })
})

test.each([
  ['broker', 'broker_unavailable'],
  ['expired', 'broker_unavailable'],
  ['closed', 'broker_unavailable'],
  ['overloaded', 'overloaded'],
  ['too_large', 'too_large'],
] as const)('one record that is not published (%s) refuses the whole callback: %s', async (reason, kind) => {
  const messages = [message({ outTradeNo: 'A' }), message({ outTradeNo: 'B' })] as const
  const { send } = harness(() => ({ kind: 'verified', messages }), [ACKED, { kind: 'failed', reason }])
  expect(await send()).toEqual({ kind: 'refused', refusal: { kind } })
})

test('a refusal by the provider is handed on, and nothing is published', async () => {
  const rejection = { kind: 'stale', ageSec: 301 } as const
  const { send, sent } = harness(() => ({ kind: 'refused', rejection }))
  expect(await send()).toEqual({ kind: 'refused', refusal: rejection })
  expect(sent).toEqual([])
})

test('a surprise in verification costs its own request only', async () => {
  let calls = 0
  const { send } = harness(() => {
    calls += 1
    if (calls === 1) throw new Error('surprise')
    return { kind: 'verified', messages: [message()] }
  })
  const [first, second] = await Promise.all([send(), send()])
  expect(first).toEqual({ kind: 'refused', refusal: { kind: 'internal' } })
  expect(second).toEqual({ kind: 'accepted' })
})

test('1,000 callbacks past their time were verified all the same, 3 ms each; now none is, and it is overload', async () => {
  let [verified, nowMs] = [0, 0]
  const { send } = harness(
    () => {
      verified += 1
      nowMs += 3
      return { kind: 'refused', rejection: { kind: 'bad_signature' } }
    },
    [],
    () => nowMs,
  )
  const received = await Promise.all(Array.from({ length: 2_000 }, () => send()))
  // What was verified left a second for Kafka's acknowledgement.
  expect([verified, nowMs]).toEqual([1_000, 3_000])
  const kinds = received.map((one) => one.kind === 'refused' && one.refusal.kind)
  expect(kinds.slice(0, 1_000).every((kind) => kind === 'bad_signature')).toBe(true)
  expect(kinds.slice(1_000).every((kind) => kind === 'overloaded')).toBe(true)
})

test('forgeries that cost milliseconds, at one merchant, do not keep another’s callbacks from their answer', async () => {
  let nowMs = 0
  const { send, target } = harness(
    () => ({ kind: 'verified', messages: [message()] }),
    [],
    () => nowMs,
  )
  const costly = () => {
    nowMs += 3
    return { kind: 'refused', rejection: { kind: 'bad_signature' } } as const
  }
  const attacked: Target = { ...target, merchant: 'shop2', bound: { ...target.bound, verify: costly } }
  const flood = Array.from({ length: 500 }, () => send({}, attacked))
  const genuine = await Promise.all(Array.from({ length: 50 }, () => send()))
  expect(genuine.every(({ kind }) => kind === 'accepted')).toBe(true)
  expect(nowMs).toBeLessThan(100)
  await Promise.all(flood)
})

test('a repeat is accepted without a record', async () => {
  const verify = (): Verdict => ({ kind: 'verified', messages: [message()] })
  const { send, sent } = harness(verify, [], undefined, (_target, _messages, repeat) => repeat())
  expect(await send()).toEqual({ kind: 'accepted' })
  expect(sent).toEqual([])
})

test.each<[Published, string[]]>([
  [ACKED, ['acked', 'answered']],
  [{ kind: 'failed', reason: 'broker' }, ['answered']],
  [{ kind: 'failed', reason: 'overloaded' }, ['answered']],
])('only what is acknowledged as a whole is remembered: %o', async (second, expected) => {
  const messages = [message({ outTradeNo: 'A' }), message({ outTradeNo: 'B' })] as const
  const heard: string[] = []
  const sift: Sift = (_target, _messages, _repeat, news) => news(() => heard.push('acked'))
  const { send } = harness(() => ({ kind: 'verified', messages }), [ACKED, second], undefined, sift)
  await send()
  heard.push('answered')
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
  expect(heard).toEqual(expected)
})

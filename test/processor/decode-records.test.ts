import { describe, expect, test } from 'vitest'
import { createRecordDecoder, SCHEMA_WAIT_MS } from '../../src/processor/decode-records.ts'
import type { InputRecord } from '../../src/runtime/kafka/port.ts'
import type { Callback } from '../../src/schemas/callback.ts'
import type { Decoded } from '../../src/schemas/codec.ts'
import type { Fact } from '../../src/orders/model.ts'

const payment: Fact = {
  eventType: 'payment_succeeded',
  providerRef: 'wechatpay:4200',
  paymentRef: null,
  amountMinor: 100,
  currency: 'CNY',
  amountKind: 'none',
  eventTimeMs: 1_700_000_000_000,
  detail: null,
}
const callback: Callback = {
  merchant: 'shop',
  outTradeNo: 'T1',
  provider: 'wechatpay',
  source: 'callback',
  messageType: 'TRANSACTION.SUCCESS',
  messageId: 'm1',
  receivedAtMs: 1_700_000_000_500,
  facts: [payment],
  instead: null,
  rawBody: Buffer.from('{}'),
  rawHeaders: {},
}
const record = (offset: number, over: Partial<InputRecord> = {}): InputRecord => ({
  offset,
  timestampMs: 1_700_000_001_000,
  key: Buffer.from('T1'),
  value: Buffer.from([offset]),
  headers: {},
  ...over,
})
const identity = { lane: 4, laneOf: (key: Buffer) => (key.toString().startsWith('T') ? 4 : 5) }
const decoderOf = (decoded: Decoded, load: 'loaded' | 'unknown' = 'unknown') => {
  let nowMs = 0
  const decode = createRecordDecoder(
    { decodeCallback: () => decoded, load: () => Promise.resolve(load) },
    { elapsedMs: () => nowMs },
  )
  return { decode, pass: (ms: number) => (nowMs += ms) }
}
const contentOf = async (changed: Partial<Callback>, given: Partial<InputRecord> = {}) => {
  const { decode } = decoderOf({ kind: 'callback', callback: { ...callback, ...changed } })
  const { records } = await decode([record(1, given)], identity)
  return records[0]?.content
}

test('a sound callback goes on as it is, in the trace of its record', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const { decode } = decoderOf({ kind: 'callback', callback })
  const { records, waitingFor } = await decode(
    [record(1, { headers: { traceparent: Buffer.from(traceparent) } })],
    identity,
  )
  expect(waitingFor).toBeUndefined()
  expect(records).toMatchObject([{ offset: 1, content: { kind: 'callback', callback } }])
  expect(records[0]?.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/)
})

describe('a message without facts that is understood', () => {
  const noEffect = { kind: 'no_effect', ref: null } as const
  const hint = { kind: 'hint', ref: 'refund:R-2' } as const
  test.each([
    [{ instead: noEffect }, {}],
    [{ instead: hint }, {}],
    [{ instead: noEffect, outTradeNo: null }, { key: null }],
    [{ instead: hint, outTradeNo: null }, { key: Buffer.from('m1') }],
  ] as const)('is noted: %o', async (changed, given) =>
    expect(await contentOf({ facts: [], ...changed }, given)).toEqual({
      kind: 'noted',
      callback: { ...callback, facts: [], ...changed },
    }),
  )

  test.each([
    ['misrouted', { instead: hint }, { key: Buffer.from('T2') }],
    ['misrouted', { instead: hint, outTradeNo: 'X1' }, { key: Buffer.from('X1') }],
    ['invalid_identity', { instead: noEffect, outTradeNo: 'T'.repeat(65) }, { key: Buffer.from('T'.repeat(65)) }],
    ['undecodable', { instead: hint, receivedAtMs: 9_000_000_000_001 }, {}],
  ] as const)('is %s like any other: %o, record %o', async (reason, changed, given) =>
    expect(await contentOf({ facts: [], ...changed }, given)).toMatchObject({ kind: 'dead_letter', reason }),
  )
})

describe('what becomes a dead letter at decoding', () => {
  test.each([
    ['unsupported', { facts: [] }, {}],
    // Stripe's dispute of a charge that other software made: which order, is the question before what it says.
    ['unroutable', { facts: [], outTradeNo: null }, { key: null }],
    ['unroutable', { facts: [], outTradeNo: null }, { key: Buffer.from('evt_1') }],
    ['unroutable', { outTradeNo: null }, { key: null }],
    ['misrouted', {}, { key: null }],
    ['misrouted', {}, { key: Buffer.from('T2') }],
    ['misrouted', { outTradeNo: 'X1' }, { key: Buffer.from('X1') }],
    ['invalid_identity', { outTradeNo: 'T'.repeat(65) }, { key: Buffer.from('T'.repeat(65)) }],
    ['invalid_identity', { merchant: '店'.repeat(22) }, {}],
    ['undecodable', { receivedAtMs: 9_000_000_000_001 }, {}],
    ['undecodable', { facts: [{ ...payment, eventTimeMs: 9_000_000_000_001 }] }, {}],
  ] as const)('%s: %o, record %o', async (reason, changed, given) =>
    expect(await contentOf(changed, given)).toMatchObject({ kind: 'dead_letter', reason }),
  )

  test('bytes that no schema explains', async () => {
    const { decode } = decoderOf({ kind: 'undecodable', detail: '1 bytes are too few' })
    const { records } = await decode([record(1)], identity)
    expect(records[0]?.content).toEqual({ kind: 'dead_letter', reason: 'undecodable', detail: '1 bytes are too few' })
  })

  test('a wild timestamp does not decide anything: it only chooses a partition of history', async () => {
    const { decode } = decoderOf({ kind: 'callback', callback })
    const { records } = await decode([record(1, { timestampMs: -1 }), record(2, { timestampMs: 2 ** 53 })], identity)
    expect(records.map((r) => r.timestampMs)).toEqual([0, 9_000_000_000_000])
  })
})

describe('an unknown schema', () => {
  test('stops the prefix for 30 s, then is a dead letter at once', async () => {
    const { decode, pass } = decoderOf({ kind: 'unknown_schema', schemaId: 77 })
    const waiting = { records: [], waitingFor: { schemaId: 77, offset: 1 } }
    expect(await decode([record(1)], identity)).toEqual(waiting)
    pass(SCHEMA_WAIT_MS - 1)
    expect(await decode([record(1)], identity)).toEqual(waiting)
    pass(1)
    const { records } = await decode([record(1), record(2)], identity)
    expect(records.map((r) => r.content)).toMatchObject([{ reason: 'unknown_schema' }, { reason: 'unknown_schema' }])
  })

  test('is decoded once the registry knows it', async () => {
    const results: Decoded[] = [
      { kind: 'unknown_schema', schemaId: 77 },
      { kind: 'callback', callback },
    ]
    const decode = createRecordDecoder(
      {
        decodeCallback: () => results.shift() ?? { kind: 'undecodable', detail: '' },
        load: () => Promise.resolve('loaded'),
      },
      { elapsedMs: () => 0 },
    )
    expect((await decode([record(1)], identity)).records).toMatchObject([{ content: { kind: 'callback' } }])
  })

  test('is not judged while the registry is away', async () => {
    const decode = createRecordDecoder(
      {
        decodeCallback: () => ({ kind: 'unknown_schema', schemaId: 77 }),
        load: () => Promise.reject(Object.assign(new Error('away'), { name: 'RegistryUnavailable' })),
      },
      { elapsedMs: () => 0 },
    )
    await expect(decode([record(1)], identity)).rejects.toThrow('away')
  })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import avro from 'avsc'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AMOUNT_MINOR_MAX } from '../../src/orders/limits.ts'
import type { Fact } from '../../src/orders/model.ts'
import { createLog } from '../../src/runtime/log.ts'
import type { Callback } from '../../src/schemas/callback.ts'
import { createCodec, type Codec } from '../../src/schemas/codec.ts'
import { SCHEMAS } from '../../src/schemas/definitions.ts'
import { RegistryUnavailable, SchemaNotRegistered } from '../../src/schemas/registry.ts'
import { ANOMALY_TOPIC, INPUT_TOPIC, SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { fakeRegistry, type FakeRegistry } from './fake-registry.ts'

const silent = createLog('test', 'silent')
const FACT: Fact = {
  ...{ eventType: 'refund_succeeded', providerRef: 'alipay:2026:R1', paymentRef: 'alipay:2026' },
  ...{ amountMinor: 123_456, currency: 'CNY', amountKind: 'cumulative', eventTimeMs: 1_760_000_000_000 },
  detail: '部分退款',
}
const CALLBACK: Callback = {
  ...{ merchant: 'shop1', outTradeNo: '订单-00012', provider: 'alipay', source: 'callback' },
  ...{ messageType: 'TRADE_SUCCESS', messageId: 'n-1', receivedAtMs: 1_760_000_000_001, facts: [FACT] },
  instead: null,
  rawBody: Buffer.from([0, 255, 10, 13]),
  rawHeaders: { 'content-type': 'text/plain', 'x-empty': '' },
}
const NOTED: Callback = { ...CALLBACK, facts: [], instead: { kind: 'no_effect', ref: null } }
const HINT: Callback = { ...NOTED, instead: { kind: 'hint', ref: 'refund:R-2' } }

let registry: FakeRegistry
let codec: Codec
let nowMs = 0
beforeEach(async () => {
  registry = await fakeRegistry('p.')
  codec = await createCodec(registry.url, 'p.', silent, () => nowMs)
})
afterEach(() => registry.close())

const encode = (value: object, id?: number) => {
  const bytes = codec.encode(INPUT_TOPIC, value)
  if (id !== undefined) bytes.writeUInt32BE(id, 1)
  return bytes
}
const decoded = (value: object) => codec.decodeCallback(encode(value))
const withFact = (change: object) => ({ ...CALLBACK, facts: [FACT, { ...FACT, ...change }] })

describe('wire form', () => {
  test('a callback comes back as it was, without a request', () => {
    const before = registry.requests.length
    for (const callback of [CALLBACK, { ...CALLBACK, outTradeNo: null, facts: [], rawHeaders: {} }, NOTED, HINT]) {
      const result = decoded(callback)
      expect(result).toEqual({ kind: 'callback', callback })
    }
    expect(registry.requests).toHaveLength(before)
  })

  test('magic byte, the id of the topic’s own schema, then Avro; a large value grows the buffer', () => {
    expect([...encode(CALLBACK).subarray(0, 5)]).toEqual([0, 0, 0, 0, 1])
    expect(codec.encode(ANOMALY_TOPIC, anomaly).readUInt32BE(1)).toBeGreaterThan(1)
    const large = { ...CALLBACK, rawBody: Buffer.alloc(1_000_000, 'x') }
    const result = decoded(large)
    expect(result.kind === 'callback' && result.callback.rawBody.equals(large.rawBody)).toBe(true)
    expect(decoded(CALLBACK)).toEqual({ kind: 'callback', callback: CALLBACK })
  })

  test('encoding what does not fit is a programming error', () => {
    expect(() => codec.encode(INPUT_TOPIC, { ...CALLBACK, merchant: 1 })).toThrow('invalid')
    expect(() => codec.encode(INPUT_TOPIC, withFact({ amountMinor: AMOUNT_MINOR_MAX + 1 }))).toThrow('invalid')
    expect(() => codec.encode(SHIPMENT_TOPIC, {})).toThrow('invalid')
    expect(() => codec.encode('other', CALLBACK)).toThrow('no schema for topic other')
  })
})

const anomaly = {
  ...{ eventId: 'e', kind: 'anomaly_opened', merchant: 'm', outTradeNo: 'T', lane: 0, laneSeq: 1, cause: 'c' },
  ...{ occurredAtMs: 1, attrs: '{}' },
}

describe('undecodable', () => {
  test.each([
    ['no value', null],
    ['one byte', Buffer.from([0])],
    ['five bytes', Buffer.from([0, 0, 0, 0, 1])],
    ['another magic byte', Buffer.from('{"merchant":"m"}')],
    ['noise', Buffer.from([0, 0, 0, 0, 1, 255, 255, 255, 255])],
  ])('%s', (_what, value) => {
    expect(codec.decodeCallback(value)).toMatchObject({ kind: 'undecodable' })
  })

  test('cut anywhere, or with a byte too many', () => {
    const bytes = encode(CALLBACK)
    for (let length = 6; length < bytes.length; length++)
      expect(codec.decodeCallback(bytes.subarray(0, length))).toMatchObject({ kind: 'undecodable' })
    expect(codec.decodeCallback(Buffer.concat([bytes, Buffer.alloc(1)]))).toEqual({
      kind: 'undecodable',
      detail: '1 bytes too many',
    })
  })

  test('a long above 2^53', () => {
    const bytes = encode({ ...CALLBACK, receivedAtMs: 1, facts: [] })
    const at = bytes.indexOf(Buffer.from('n-1')) + 3
    const huge = Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from('ffffffffffffffff7f', 'hex'),
      bytes.subarray(at + 1),
    ])
    expect(codec.decodeCallback(huge)).toMatchObject({ kind: 'undecodable' })
  })

  test.each([
    ['bad merchant', { ...CALLBACK, merchant: '' }],
    ['bad outTradeNo', { ...CALLBACK, outTradeNo: 'a\0b' }],
    ['bad outTradeNo', { ...CALLBACK, outTradeNo: '单'.repeat(86) }],
    ['bad source', { ...CALLBACK, source: 'rumour' }],
    ['bad messageType', { ...CALLBACK, messageType: 'x'.repeat(257) }],
    ['bad messageId', { ...CALLBACK, messageId: '\0' }],
    ['bad receivedAtMs', { ...CALLBACK, receivedAtMs: -1 }],
    ['bad facts[1].eventType', withFact({ eventType: 'paid' })],
    ['bad facts[1].eventType', withFact({ eventType: 'constructor' })],
    ['bad facts[1].providerRef', withFact({ providerRef: '' })],
    ['bad facts[1].paymentRef', withFact({ paymentRef: 'x'.repeat(257) })],
    ['bad facts[1].amountMinor', withFact({ amountMinor: -1 })],
    ['bad facts[1].currency', withFact({ currency: 'cny' })],
    ['bad facts[1].amountKind', withFact({ amountKind: 'some' })],
    ['bad facts[1].eventTimeMs', withFact({ eventTimeMs: -5 })],
    ['bad instead', { ...CALLBACK, instead: { kind: 'no_effect', ref: null } }],
    ['bad instead.kind', { ...NOTED, instead: { kind: 'constructor', ref: null } }],
    ['bad instead.ref', { ...NOTED, instead: { kind: 'no_effect', ref: 'refund:R-2' } }],
    ['bad instead.ref', { ...NOTED, instead: { kind: 'hint', ref: null } }],
    ['bad instead.ref', { ...NOTED, instead: { kind: 'hint', ref: '' } }],
    ['bad instead.ref', { ...NOTED, instead: { kind: 'hint', ref: 'a\0b' } }],
    ['bad instead.ref', { ...NOTED, instead: { kind: 'hint', ref: 'x'.repeat(257) } }],
    ['bad facts[1].detail', withFact({ detail: 'x'.repeat(1_025) })],
  ])('%s', (detail, value) => {
    expect(decoded(value)).toEqual({ kind: 'undecodable', detail })
  })

  test('what is just allowed is decoded', () => {
    const widest = {
      ...CALLBACK,
      outTradeNo: `${'单'.repeat(85)}x`,
      facts: [{ ...FACT, currency: '', amountMinor: AMOUNT_MINOR_MAX, detail: 'x'.repeat(1_024) }],
    }
    expect(decoded(widest).kind).toBe('callback')
  })

  test.each([
    ['facts', 'facts'],
    ['headers', 'rawHeaders'],
  ])('a count of %s that no record could hold costs no time and no memory', (_what, field) => {
    const bytes = encode({ ...CALLBACK, facts: [], rawBody: Buffer.alloc(0), rawHeaders: {} })
    // The four last bytes: no facts, nothing instead, no body, no headers.
    const at = field === 'facts' ? bytes.length - 4 : bytes.length - 1
    const many = Buffer.from('feffffffffffff0f', 'hex')
    const crafted = Buffer.concat([bytes.subarray(0, at), many, bytes.subarray(at + 1)])
    const startedMs = performance.now()
    expect(codec.decodeCallback(crafted)).toMatchObject({ kind: 'undecodable' })
    expect(performance.now() - startedMs).toBeLessThan(1_000)
  })
})

describe('schemas of other versions', () => {
  const fields = SCHEMAS[INPUT_TOPIC].fields as { name: string }[]
  const evolved = (change: (fields: { name: string }[]) => object[]) => ({
    ...SCHEMAS[INPUT_TOPIC],
    fields: change(fields),
  })
  const added = { name: 'channel', type: ['null', 'string'], default: null }

  test('a newer writer’s added field is passed over; its resolver is made once', async () => {
    const newer = evolved((all) => [...all.slice(0, 2), added, ...all.slice(2)])
    const id = registry.add(newer)
    const bytes = bytesOf(newer, { ...CALLBACK, channel: 'app' }, id)
    expect(codec.decodeCallback(bytes)).toEqual({ kind: 'unknown_schema', schemaId: id })
    expect(await codec.load(id)).toBe('loaded')
    const before = registry.requests.length
    expect(codec.decodeCallback(bytes)).toEqual({ kind: 'callback', callback: CALLBACK })
    const micros = (value: Buffer) => {
      const startedMs = performance.now()
      for (let i = 0; i < 5_000; i++) codec.decodeCallback(value)
      return (performance.now() - startedMs) / 5
    }
    const [own, resolved] = [encode(CALLBACK), bytes].map((value) =>
      Math.min(micros(value), micros(value), micros(value)),
    )
    // One resolver for all records; one for each would take 57 µs instead of 2.
    expect(resolved).toBeLessThan((own ?? 0) * 8)
    expect(await codec.load(id)).toBe('loaded')
    expect(registry.requests).toHaveLength(before)
  })

  test('an older writer’s missing field gets its default', async () => {
    const older = {
      ...SCHEMAS[INPUT_TOPIC],
      fields: fields.map((field) => (field.name === 'facts' ? withoutDetail(field) : field)),
    }
    const id = registry.add(older)
    const bytes = bytesOf(older, CALLBACK, id)
    await codec.load(id)
    expect(codec.decodeCallback(bytes)).toEqual({
      kind: 'callback',
      callback: { ...CALLBACK, facts: [{ ...FACT, detail: null }] },
    })
  })

  test('records of the first version are read as they were written, and the first version reads ours', async () => {
    const first = JSON.parse(readFileSync(join(import.meta.dirname, 'history/callback-1.avsc'), 'utf8')) as object
    const id = registry.add(first)
    await codec.load(id)
    for (const callback of [CALLBACK, { ...CALLBACK, outTradeNo: null, facts: [] }])
      expect(codec.decodeCallback(bytesOf(first, callback, id))).toEqual({ kind: 'callback', callback })
    const reader = avro.Type.forSchema(first as avro.Schema)
    const resolver = reader.createResolver(avro.Type.forSchema(SCHEMAS[INPUT_TOPIC]))
    for (const callback of [CALLBACK, NOTED, HINT]) {
      const { instead, ...known } = callback
      expect(reader.fromBuffer(encode(callback).subarray(5), resolver)).toEqual(known)
      expect(instead).not.toBeUndefined()
    }
  })

  test.each([
    ['another record', { type: 'record', name: 'Other', fields: [{ name: 'a', type: 'string' }] }, undefined],
    ['a field that changed its type', evolvedType(), undefined],
    ['a JSON schema', { type: 'object' }, 'JSON'],
  ])('%s is undecodable, not unknown', async (_what, schema, type) => {
    const id = registry.add(schema, type)
    expect(await codec.load(id)).toBe('loaded')
    expect(codec.decodeCallback(encode(CALLBACK, id))).toEqual({
      kind: 'undecodable',
      detail: expect.stringContaining(`schema ${id} `) as string,
    })
  })

  function evolvedType() {
    return evolved((all) => all.map((field) => (field.name === 'merchant' ? { ...field, type: 'long' } : field)))
  }
})

describe('the registry', () => {
  test('an id that it denies is asked for again after 30 s, then known', async () => {
    const id = 77
    const asked = () => registry.requests.filter((line) => line === `GET /schemas/ids/${id}`).length
    expect(await codec.load(id)).toBe('unknown')
    nowMs += 29_999
    expect(await codec.load(id)).toBe('unknown')
    expect(asked()).toBe(1)
    while (registry.add(SCHEMAS[INPUT_TOPIC]) < id);
    nowMs += 1
    expect(await codec.load(id)).toBe('loaded')
    expect(asked()).toBe(2)
    expect(codec.decodeCallback(encode(CALLBACK, id))).toEqual({ kind: 'callback', callback: CALLBACK })
  })

  test('away or behind a proxy that denies everything, it has said nothing of the id', async () => {
    for (const mode of ['fails', 'denies'] as const) {
      registry.mode = mode
      await expect(codec.load(77)).rejects.toThrow(RegistryUnavailable)
    }
    registry.mode = 'answers'
    expect(await codec.load(77)).toBe('unknown')
    expect(codec.decodeCallback(encode(CALLBACK))).toMatchObject({ kind: 'callback' })
  })

  test('silent, it is given up after 3 s', async () => {
    registry.mode = 'silent'
    const startedMs = performance.now()
    await expect(codec.load(77)).rejects.toThrow(RegistryUnavailable)
    expect(performance.now() - startedMs).toBeLessThan(6_000)
  })

  test('at the start: away is one error, a missing schema another that names the remedy', async () => {
    const empty = await fakeRegistry('p.', false)
    await expect(createCodec(empty.url, 'p.', silent)).rejects.toThrow(SchemaNotRegistered)
    await expect(createCodec(empty.url, 'p.', silent)).rejects.toThrow(
      `p.${INPUT_TOPIC}-value lacks this version's schema: run "paidonce schemas register"`,
    )
    await empty.close()
    await expect(createCodec(empty.url, 'p.', silent)).rejects.toThrow(RegistryUnavailable)
  })
})

function bytesOf(schema: object, value: object, id: number): Buffer {
  const header = Buffer.alloc(5)
  header.writeUInt32BE(id, 1)
  return Buffer.concat([header, avro.Type.forSchema(schema as avro.Schema).toBuffer(value)])
}

function withoutDetail(facts: { name: string }) {
  const { type } = facts as unknown as { type: { items: { fields: { name: string }[] } } }
  const kept = type.items.fields.filter(({ name }) => name !== 'detail')
  return { ...facts, type: { ...type, items: { ...type.items, fields: kept } } }
}

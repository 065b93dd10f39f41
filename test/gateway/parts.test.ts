import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { readGatewayConfig } from '../../src/gateway/config.ts'
import { checkTopology } from '../../src/gateway/check-topology.ts'
import { createMetrics } from '../../src/gateway/metrics.ts'
import { keepTrying } from '../../src/runtime/keep-trying.ts'
import { createRefusalLog } from '../../src/gateway/refusal-log.ts'
import { describeRefusal, type Refusal } from '../../src/gateway/rejection.ts'
import { headersOf } from '../../src/gateway/request-headers.ts'
import { createTurnBatch } from '../../src/gateway/turn-batch.ts'
import { watchTopology } from '../../src/gateway/watch-topology.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import type { TopicDescription } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC, RETENTION_MS, SHIPMENT_TOPIC, TOPICS } from '../../src/schemas/topics.ts'
import { until } from '../helpers/until.ts'

const silent = createLog('test', 'silent')

describe('turn batch', () => {
  test('jobs of one turn are done together, in order; above the limit the rest waits for the next turn', async () => {
    const batches: number[][] = []
    const enqueue = createTurnBatch<number>((jobs) => batches.push([...jobs]), 3)
    for (const job of [1, 2, 3, 4, 5]) enqueue(job)
    expect(batches).toEqual([])
    await until('all are done', () => batches.flat().length === 5)
    enqueue(6)
    await until('a later one too', () => batches.flat().length === 6)
    expect(batches).toEqual([[1, 2, 3], [4, 5], [6]])
  })
})

describe('request headers', () => {
  const of = (rawHeaders: string[]) => {
    const headers: Record<string, string> = {}
    for (let i = 0; i < rawHeaders.length; i += 2)
      headers[(rawHeaders[i] ?? '').toLowerCase()] ??= rawHeaders[i + 1] ?? ''
    return headersOf({ headers, rawHeaders } as unknown as IncomingMessage)
  }

  test('names are lower-case', () => {
    expect(of(['Wechatpay-Serial', 'S', 'Host', 'h'])).toEqual({
      headers: { 'wechatpay-serial': 'S', host: 'h' },
      repeated: [],
    })
  })

  test('a header sent twice, in any case and with any value, is named and left out', () => {
    expect(of(['Wechatpay-Serial', 'S', 'host', 'h', 'WECHATPAY-SERIAL', 'S'])).toEqual({
      headers: { host: 'h' },
      repeated: ['wechatpay-serial'],
    })
  })

  test('a header named __proto__ is a name like any other', () => {
    const { headers } = headersOf({ headers: {}, rawHeaders: ['__proto__', 'x'] } as unknown as IncomingMessage)
    expect(Object.entries(headers)).toEqual([['__proto__', 'x']])
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
  })
})

describe('refusals', () => {
  test.each([
    [{ kind: 'bad_signature' }, 'refused'],
    [{ kind: 'signature_probe' }, 'refused'],
    [{ kind: 'wrong_recipient', field: 'mchid' }, 'refused'],
    [{ kind: 'broker_unavailable' }, 'failed'],
    [{ kind: 'overloaded' }, 'failed'],
    [{ kind: 'internal' }, 'failed'],
  ] as const)('%o counts as %s', (refusal: Refusal, outcome) => {
    expect(describeRefusal(refusal)).toMatchObject({ reason: refusal.kind, outcome })
  })

  test('each is a log line with its reason and facts, cut and escaped, up to 50 a second; the rest are counted', () => {
    const lines: string[] = []
    const log = createLog('test', 'info', { write: (line) => void lines.push(line) })
    let nowMs = 0
    const write = createRefusalLog(log, () => nowMs)
    for (let i = 0; i < 60; i++) write({ kind: 'bad_signature' }, { provider: 'wechatpay', merchant: 'shop1' })
    write({ kind: 'unknown_key', keyId: `\u001b[31m\n${'x'.repeat(500)}` }, { provider: 'wechatpay' })
    expect(lines).toHaveLength(51)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      ...{ level: 'info', reason: 'bad_signature', provider: 'wechatpay', merchant: 'shop1', msg: 'callback refused' },
    })
    expect(lines[50]).not.toContain('\u001b')
    expect(lines[50]?.length).toBeLessThan(400)
    expect(JSON.parse(lines[50] ?? '')).toMatchObject({ reason: 'unknown_key', keyId: '(not a serial)' })
    nowMs = 1_000
    write({ kind: 'bad_signature' }, { provider: 'alipay' })
    expect(JSON.parse(lines[51] ?? '')).toMatchObject({ reason: 'bad_signature', suppressed: 10 })
    expect(lines).toHaveLength(53)
  })

  const logOf = (elapsedMs = () => 0) => {
    const lines: { level: string; reason?: string; merchant?: string; suppressed?: number; msg: string }[] = []
    const log = createLog('test', 'info', { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[0]) })
    return { lines, write: createRefusalLog(log, elapsedMs) }
  }

  test.each([
    [{ kind: 'unknown_key', keyId: 'x' }, 'wechatpay', 'info', 'a key that we do not hold, or a forgery'],
    [{ kind: 'undecryptable' }, 'wechatpay-v2', 'info', 'a key that we do not hold, or a forgery'],
    [{ kind: 'undecryptable' }, 'wechatpay', 'warn', 'callback refused'],
    [{ kind: 'wrong_recipient', field: 'mchid' }, 'wechatpay', 'warn', 'callback refused'],
    [{ kind: 'bad_signature' }, 'wechatpay', 'info', 'callback refused'],
    [{ kind: 'overloaded' }, 'wechatpay', 'warn', 'callback refused'],
  ] as const)('%o of %s is logged as %s: what anybody can cause is no warning', (refusal, provider, level, words) => {
    const { lines, write } = logOf()
    write(refusal, { provider, merchant: 'shop1' })
    expect(lines).toMatchObject([{ level, reason: refusal.kind, msg: expect.stringContaining(words) as string }])
  })

  test('a flood at one merchant, or at hundreds, hides no first line of another; what it left out is counted', () => {
    let nowMs = 0
    const { lines, write } = logOf(() => nowMs)
    const flood = (merchant: string, count: number) => {
      for (let i = 0; i < count; i++) write({ kind: 'bad_signature' }, { provider: 'alipay', merchant })
    }
    flood('shop1', 1_000)
    flood('shop2', 1)
    write({ kind: 'bad_signature' }, { provider: 'worker', merchant: 'shop1' })
    expect(lines.map(({ merchant }) => merchant).slice(50)).toEqual(['shop2', 'shop1'])
    for (let i = 3; i < 300; i++) flood(`shop${i}`, 100)
    expect(lines.length).toBeLessThan(500 + 300)
    expect(lines.at(-1)?.merchant).toBe('shop299')
    nowMs = 1_000
    const before = lines.length
    flood('shop1', 1)
    const summaries = lines.slice(before, -1)
    expect(summaries).toHaveLength(51)
    expect(summaries[0]).toMatchObject({ level: 'warn', merchant: 'shop1', suppressed: 950 })
    expect(summaries.reduce((sum, { suppressed = 0 }) => sum + suppressed, 0) + before).toBe(1_002 + 297 * 100)
  })

  test('no character of a request that a terminal obeys is in a line', () => {
    const lines: string[] = []
    const log = createLog('test', 'info', { write: (line) => void lines.push(line) })
    const field = '\u009b31mX\u061c\u{e0041}\u3164'
    createRefusalLog(log, () => 0)({ kind: 'malformed', field, detail: field }, { provider: 'wechatpay' })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ field: '\\u{9b}31mX\\u{61c}\\u{e0041}\\u{3164}' })
  })

  const hex = '0123456789abcdef'.repeat(3)
  test.each([
    ['wechatpay', 'PUB_KEY_ID_0114232134912410000000000000', true],
    ['wechatpay', '5F1C72E2A8931B72A2E13AF8DEE92471EB397115', true],
    ['wechatpay', hex.slice(0, 32), false],
    ['wechatpay', 'Ab3'.repeat(11).slice(0, 32), false],
    ['wechatpay', `PUB_KEY_ID_${hex.slice(0, 32)}`, false],
    ['wechatpay', hex, false],
    ['wechatpay', '', false],
    ['wechatpay-v2', 'wechatpay-v2', true],
    ['wechatpay-v2', hex.slice(0, 32), false],
    ['alipay', hex.slice(0, 32), true],
    ['alipay', 'alipay', true],
    ['alipay', 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC', false],
  ])('of %s, a key named %s is logged only if it can be a name and no secret: %s', (provider, keyId, isShown) => {
    const lines: string[] = []
    const log = createLog('test', 'info', { write: (line) => void lines.push(line) })
    createRefusalLog(log, () => 0)({ kind: 'unknown_key', keyId }, { provider })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ keyId: isShown ? keyId : '(not a serial)' })
  })
})

describe('merchants’ files that are not what is in use', () => {
  test('set one gauge, whether they hold a mistake or never rest, until neither is so', async () => {
    const metrics = createMetrics()
    const gauge = async () =>
      (await metrics.registry.getSingleMetricAsString('paidonce_merchants_reload_failed')).at(-1)
    const told: [() => void, string][] = [
      [() => metrics.noteUnsettled(true), '1'],
      [() => metrics.noteUnsettled(false), '0'],
      [() => metrics.noteReload('refused', new Date()), '1'],
      [() => metrics.noteUnsettled(true), '1'],
      [() => metrics.noteUnsettled(false), '1'],
      [() => metrics.noteReload('loaded', new Date()), '0'],
    ]
    for (const [tell, value] of told) {
      tell()
      expect(await gauge()).toBe(value)
    }
    metrics.stop()
  })
})

describe('starting', () => {
  test('a bad environment names every problem at once', () => {
    const read = () => readGatewayConfig({ PORT: 'x', IN_FLIGHT_MAX: '0', SCHEMA_REGISTRY_URL: 'registry' })
    for (const name of ['PORT', 'IN_FLIGHT_MAX', 'SCHEMA_REGISTRY_URL', 'KAFKA_BROKERS', 'MERCHANTS_DIR'])
      expect(read).toThrow(name)
  })

  test('what is away is tried again until it is there', async () => {
    let tries = 0
    const work = () => (++tries < 3 ? Promise.reject(new Error('away')) : Promise.resolve('there'))
    expect(await keepTrying('reaching it', work, silent, new AbortController().signal)).toBe('there')
  })

  test('what only a person can put right is not tried again; stopping ends the waiting', async () => {
    const bad = () => Promise.reject(new BadConfiguration('no'))
    await expect(keepTrying('reaching it', bad, silent, new AbortController().signal)).rejects.toThrow(BadConfiguration)
    const stopping = new AbortController()
    const away = keepTrying('reaching it', () => Promise.reject(new Error('away')), silent, stopping.signal)
    stopping.abort()
    await expect(away).rejects.toThrow('aborted')
  })
})

describe('topics', () => {
  const sound = (change: Partial<Record<string, Partial<TopicDescription>>> = {}) =>
    new Map(
      TOPICS.map((name): [string, TopicDescription] => [
        `p.${name}`,
        {
          ...{ topic: `p.${name}`, partitions: 3, replicationFactor: 3, minInsyncReplicas: 2 },
          ...{ retentionMs: RETENTION_MS[name], cleanupPolicy: 'delete', compressionType: 'producer' },
          ...change[name],
        },
      ]),
    )
  const admin = (found: Map<string, TopicDescription>) => ({ describeTopics: () => Promise.resolve(found) })
  const options = { topicPrefix: 'p.', allowSingleReplica: false }

  test('sound topics give the partition count', async () => {
    expect(await checkTopology(admin(sound()), options)).toBe(3)
  })

  test.each([
    ['another count', { [SHIPMENT_TOPIC]: { partitions: 4 } }, 'has 4 partitions, 3 are expected'],
    ['a compacted input', { [INPUT_TOPIC]: { cleanupPolicy: 'compact' } }, 'cleanup.policy'],
    ['one replica', { [INPUT_TOPIC]: { minInsyncReplicas: 1 } }, 'ALLOW_SINGLE_REPLICA'],
  ])('%s ends the process, with the remedy', async (_what, change, says) => {
    const checked = checkTopology(admin(sound(change)), options)
    await expect(checked).rejects.toThrow(BadConfiguration)
    await expect(checked).rejects.toThrow(says)
  })

  test('a missing topic is waited for', async () => {
    const found = sound()
    found.delete(`p.${SHIPMENT_TOPIC}`)
    const checked = checkTopology(admin(found), options)
    await expect(checked).rejects.toThrow('paidonce topics create')
    await expect(checked).rejects.not.toThrow(BadConfiguration)
  })

  test('a count that changes while running is fatal; Kafka being away is not', async () => {
    const fatal: Error[] = []
    let found: () => Promise<Map<string, TopicDescription>> = () => Promise.reject(new Error('away'))
    const watch = watchTopology(
      { describeTopics: () => found() },
      { ...options, partitions: 3 },
      { onFatal: (error) => fatal.push(error), log: silent, intervalMs: 5 },
    )
    try {
      let looked = 0
      found = () => {
        looked += 1
        return Promise.reject(new Error('away'))
      }
      await until('it has looked', () => looked > 1)
      expect(fatal).toEqual([])
      const grown = Object.fromEntries(TOPICS.map((name) => [name, { partitions: 6 }]))
      found = () => Promise.resolve(sound(grown))
      await until('it is fatal', () => fatal.length > 0)
      expect(fatal[0]).toBeInstanceOf(BadConfiguration)
      expect(fatal[0]?.message).toContain('has 6 partitions, 3 are expected')
    } finally {
      watch.stop()
    }
  })
})

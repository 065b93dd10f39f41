import { expect, test } from 'vitest'
import { clientLog } from '../../../src/runtime/kafka/client-log.ts'
import { logLevel } from '../../../src/runtime/kafka/kafkajs.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { createRequire } from 'node:module'

const { errorCodes } = createRequire(import.meta.url)('kafkajs/src/protocol/error.js') as {
  errorCodes: readonly { type: string; message: string }[]
}

function setUp() {
  const lines: Record<string, unknown>[] = []
  let nowMs = 0
  const log = createLog('test', 'debug', { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[0]) })
  const write = clientLog(log, { now: () => new Date(0), elapsedMs: () => nowMs })
  const error = (message: string, extra: object = {}) =>
    write({
      namespace: 'Connection',
      level: logLevel.ERROR,
      label: 'ERROR',
      log: { timestamp: '', logger: 'kafkajs', message, ...extra },
    })
  return { lines, error, write, pass: (ms: number) => (nowMs += ms) }
}

test.each([
  'CONCURRENT_TRANSACTIONS',
  'REBALANCE_IN_PROGRESS',
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
])('%s, which kafkajs calls an error and retries, is debug', (type) => {
  const { lines, error } = setUp()
  const text = errorCodes.find((entry) => entry.type === type)?.message
  expect(text).toBeDefined()
  error('Response AddPartitionsToTxn(key: 24, version: 1)', { error: text })
  expect(lines).toMatchObject([{ level: 'debug' }])
})

test('other errors are warnings, with what helps to find them', () => {
  const { lines, error } = setUp()
  error('Connection error: connect ECONNREFUSED', { broker: 'b:9092', clientId: 'paidonce-lane', stack: 'at x' })
  expect(lines).toMatchObject([
    { level: 'warn', msg: 'Connection error: connect ECONNREFUSED', client: 'Connection', broker: 'b:9092' },
  ])
  expect(lines[0]).not.toHaveProperty('stack')
})

test('a line that repeats is written once in 5 s', () => {
  const { lines, error, pass } = setUp()
  for (let i = 0; i < 100; i++) {
    error('Connection timeout')
    pass(100)
  }
  expect(lines).toHaveLength(2)
})

test('only named fields pass', () => {
  const { lines, error } = setUp()
  error('refused', { password: 'hunter2', payload: { sasl: 'hunter2' }, groupId: 'app' })
  expect(JSON.stringify(lines)).not.toContain('hunter2')
  expect(lines).toMatchObject([{ groupId: 'app' }])
})

test('what kafkajs calls info is debug', () => {
  const { lines, write } = setUp()
  write({
    namespace: 'ConsumerGroup',
    level: logLevel.INFO,
    label: 'INFO',
    log: { timestamp: '', message: 'Pausing fetching from 1 topics' },
  })
  expect(lines).toMatchObject([{ level: 'debug' }])
})

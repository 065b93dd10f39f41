import { expect, test } from 'vitest'
import { API_SHAPE } from '../../src/api/config.ts'
import { GATEWAY } from '../../src/gateway/config.ts'
import { PROCESSOR } from '../../src/processor/config.ts'
import { BadConfiguration, readConfig, readTogether } from '../../src/runtime/config.ts'
import { SIMULATOR } from '../../src/simulator/config.ts'

const SHAPES = { ...API_SHAPE, ...GATEWAY, ...PROCESSOR, ...SIMULATOR }

/** What a variable is read as, or the message that refuses it. */
function read(name: keyof typeof SHAPES, text: string): unknown {
  try {
    return readConfig({ [name]: SHAPES[name] }, { [name]: text })[name]
  } catch (error) {
    if (error instanceof BadConfiguration) return error.message
    throw error
  }
}

test.each([
  ['10.0.0.1:9092', ['10.0.0.1:9092']],
  ['a.example.com:9092, b_2:1,c:65535', ['a.example.com:9092', 'b_2:1', 'c:65535']],
  ['[::1]:9092,[2001:db8::7]:9093', ['[::1]:9092', '[2001:db8::7]:9093']],
])('KAFKA_BROKERS %s is read', (text, expected) => {
  expect(read('KAFKA_BROKERS', text)).toEqual(expected)
})

test.each([
  [' , ', 1],
  ['kafka', 1],
  ['a:9092;b:9092', 1],
  ['a:9092,,b:9092', 2],
  ['a:9092,b', 2],
  ['a:0', 1],
  ['a:65536', 1],
  ['a:9092x', 1],
  ['a: 9092', 1],
  ['::1:9092', 1],
  ['[::1]', 1],
  ['[fe80::1%eth0]:9092', 1],
  ['[10.0.0.1]:9092', 1],
  ['SASL_SSL://user:hunter2@a:9092', 1],
])('KAFKA_BROKERS %s is refused, and not shown', (text, which) => {
  const said = read('KAFKA_BROKERS', text)
  expect(said).toContain('KAFKA_BROKERS')
  expect(said).toContain(`no. ${which} is not`)
  expect(said).not.toContain('hunter2')
})

test.each(['http://registry:8081', 'https://user:p%40ss@registry.example.com/path'])('%s is a registry', (text) => {
  expect(read('SCHEMA_REGISTRY_URL', text)).toBe(text)
})
test.each([
  'registry:8081',
  'ftp://registry',
  'file:///etc/passwd',
  'http://u:100%@r:1',
  'http://u:%ff@r:1',
  'http://',
])('%s is no registry', (text) => {
  expect(read('SCHEMA_REGISTRY_URL', text)).toMatch(/SCHEMA_REGISTRY_URL/)
})

test('a database address: a lone % is taken as node-postgres takes it, what it cannot decode is refused', () => {
  const lone = 'postgres://u:100%@h:5432/x'
  expect(read('DATABASE_URL', lone)).toBe(lone)
  for (const bad of ['postgres://u:%ffhunter2@h/x', 'mysql://u:hunter2@h/x', 'h:5432']) {
    expect(read('DATABASE_URL', bad)).toMatch(/DATABASE_URL/)
    expect(read('DATABASE_URL', bad)).not.toContain('hunter2')
  }
})

test.each(['redis://redis', 'rediss://user:p%40ss@redis.example.com:6380/3', 'redis://:p%3F@[::1]:6379/'])(
  '%s is a Redis',
  (text) => {
    expect(read('REDIS_URL', text)).toBe(text)
  },
)
test.each([
  'redis:6379',
  'http://u:hunter2@redis',
  'redis://u:hunter2%@redis',
  'redis://u:hunter2@redis/queue',
  'redis:///0',
  'unix:///run/redis.sock',
])('%s is no Redis, and is not shown', (text) => {
  expect(read('REDIS_URL', text)).toMatch(/REDIS_URL/)
  expect(read('REDIS_URL', text)).not.toContain('hunter2')
})

const NUMBERS = [
  'PORT',
  'METRICS_PORT',
  'COMMAND_WAIT_MS',
  'BODY_BYTES_MAX',
  'IN_FLIGHT_MAX',
  'CONNECTIONS_MAX',
  'DATABASE_CONNECTIONS_MAX',
  'PUBLISH_INTERVAL_MS',
  'REDIS_ANSWER_MS_MAX',
  'KEEP_ALIVE_MS',
  'LINGER_MS',
  'WAKE_INTERVAL_MS',
  'SESSION_TIMEOUT_MS',
  'BATCH_RECORDS_MAX',
  'HELD_LIMIT_SEC',
  'EXPIRY_GRACE_SEC',
  'SEED',
  'ORDERS',
  'SLOW_SHARE',
  'TIME_SCALE',
] as const
test.each(NUMBERS)('%s takes decimal digits only', (name) => {
  for (const bad of [' ', '0x0', '1e3', '+1', '-1', ' 1', '1 ', '1_000', '１', '.5', 'Infinity', '9'.repeat(400)])
    expect(read(name, bad), bad).toContain(name)
})
test('numbers are read', () => {
  expect([read('PORT', '0'), read('PORT', '65535'), read('SLOW_SHARE', '0.25')]).toEqual([0, 65_535, 0.25])
  expect(read('PORT', '65536')).toContain('must be an integer from 0 to 65535, in decimal digits')
  expect(read('PORT', '80.5')).toContain('PORT')
})

const messageOf = (read: () => unknown) => {
  try {
    read()
  } catch (error) {
    if (error instanceof BadConfiguration) return error.message
    throw error
  }
  return 'read'
}

test('one line for each mistake, half of SASL among them', () => {
  const env = {
    KAFKA_SASL_PASSWORD: 'hunter2',
    SESSION_TIMEOUT_MS: '1',
    DATABASE_URL: 'x',
    SCHEMA_REGISTRY_URL: 'http://r',
  }
  expect(messageOf(() => readConfig(PROCESSOR, env)).split('\n')).toEqual([
    'Bad configuration:',
    '✖ KAFKA_BROKERS must be set',
    '✖ DATABASE_URL must be a postgres://user:password@host:port/database address',
    '✖ SESSION_TIMEOUT_MS must be an integer from 1000 to 120000, in decimal digits',
    '✖ KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME must be set too: SASL needs all three',
  ])
})

test('the mistakes of one reader hide none of another, and what both say is said once', () => {
  const fail = (message: string) => () => {
    throw new BadConfiguration(message)
  }
  expect(messageOf(() => readTogether({ a: fail('Bad:\n✖ x'), b: fail('Bad:\n✖ x\n✖ y'), c: () => 1 }))).toBe(
    'Bad:\n✖ x\n✖ y',
  )
  expect(readTogether({ a: () => 1, b: () => 'x' })).toEqual({ a: 1, b: 'x' })
  expect(() => readTogether({ a: () => JSON.parse('{') as unknown })).toThrow(SyntaxError)
})

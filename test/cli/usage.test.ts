import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { durationSec, integer } from '../../src/cli/options.ts'
import { listing, printable, table } from '../../src/cli/render.ts'
import { FACT_KINDS, STATUSES } from '../../src/orders/model.ts'
import { COMMAND_KINDS } from '../../src/orders/on-command.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

const CLOSED = 'postgres://u:secretword@127.0.0.1:1/x'

test('help names every noun and the exit codes', async () => {
  const { code, stdout, stderr } = await paidonce(['--help'])
  expect([code, stderr]).toEqual([0, ''])
  for (const noun of ['callback', 'config', 'dlq', 'lane', 'migrate', 'order', 'query', 'schemas', 'token', 'topics'])
    expect(stdout).toContain(`\n  ${noun}`)
  expect(stdout).toContain('Exit codes: 0 ok, 1 findings, 2 usage, 3 could not decide.')
})

test.each([
  [['nonsense'], "unknown command 'nonsense'"],
  [['order', 'shwo', 'acme', 'x'], 'Did you mean show?'],
  [['order', 'show', 'acme'], "missing required argument 'out_trade_no'"],
  [['order', 'show', 'Acme', 'x'], 'It must be 1 to 64 of a-z, 0-9, _ and -.'],
  [['order', 'show', 'acme', 'x'.repeat(65)], 'It must be 1 to 64 bytes.'],
  [['topics', 'create', '--partitions', '0'], 'It must be an integer from 1 to 10000.'],
  [['topics', 'create', '--partitions', '1e2'], 'It must be an integer from 1 to 10000.'],
  [['topics', 'create', '--replication', 'many'], 'It must be an integer from 1 to 9.'],
  [['topics', 'create', '--output', 'xml'], 'Allowed choices are table, json, csv.'],
  [['token', 'create'], "required option '--name <name>' not specified"],
  [['token', 'create', '--name', 'a b'], 'It must be 1 to 64 of'],
  [['token', 'create', '--name', 'a', '--role', 'root'], 'Allowed choices are merchant, viewer, operator, admin.'],
  [['token', 'create', '--name', 'a', '--expires-in', '30'], 'such as 30d'],
  [['token', 'create', '--name', 'a'], '--role merchant needs --merchant'],
  [['query', 'list', '--limit', '0'], 'It must be an integer from 1 to 10000.'],
  [['lane', 'resume', 'x', '--reason', 'r'], 'It must be an integer from 0 to 32767.'],
  [['lane', 'resume', '1'], "required option '--reason <text>' not specified"],
  [['dlq', 'list', '--reason', 'bad'], 'Allowed choices are undecodable'],
  [['dlq', 'list', '--since', 'noon'], 'with its offset or Z'],
  [['anomaly', 'resolve', '1', '--resolution', 'ignore', '--reason', ' '], 'It must be 1 to 500 characters'],
  [['brake', 'set', '--merchant', 'acme', '--reason', '\u3000'], 'It must be 1 to 500 characters'],
  [['dlq', 'discard', '0', '--note', 'n'], 'It must be an integer from 1'],
  [['config', 'check', 'toaster'], 'Allowed choices are api, gateway, processor, reconciler.'],
  [['callback', 'verify', 'x.http', '--at', 'noon'], 'with its offset or Z'],
  [['migrate', '--force'], "unknown option '--force'\nSee: paidonce migrate --help"],
  [['migrate'], 'DATABASE_URL'],
  [['schemas', 'register'], 'SCHEMA_REGISTRY_URL'],
  [['topics', 'create'], 'KAFKA_BROKERS'],
  [['callback', 'verify', 'x.http'], 'MERCHANTS_DIR'],
])('%j is refused with exit 2 and one clear message', async (args, message) => {
  const { code, stdout, stderr } = await paidonce(args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
  expect(stderr).toMatch(/^error: /)
  expect(stderr).not.toMatch(/\n\s+at /)
})

test('a replication factor of 1 needs its own permission', async () => {
  const { code, stderr } = await paidonce(['topics', 'create', '--replication', '1'], { KAFKA_BROKERS: '127.0.0.1:1' })
  expect(code).toBe(2)
  expect(stderr).toContain('ALLOW_SINGLE_REPLICA=1')
})

test.each([
  [['migrate'], 'Postgres does not answer: connect ECONNREFUSED 127.0.0.1:1'],
  [['order', 'show', 'acme', 'x'], 'Postgres does not answer'],
  [['token', 'list'], 'Postgres does not answer'],
  [['schemas', 'register'], 'The schema registry does not answer'],
])('%j without its server: exit 3, a remedy, no stack, no password', async (args, message) => {
  const env = { DATABASE_URL: CLOSED, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' }
  const { code, stdout, stderr } = await paidonce(args, env)
  expect([code, stdout]).toEqual([3, ''])
  expect(stderr).toContain(message)
  expect(stderr).toMatch(/\n(Check|Run) /)
  expect(stderr).not.toMatch(/\n\s+at |secretword/)
})

test('LOG_LEVEL=debug shows the stack', async () => {
  const { stderr } = await paidonce(['token', 'list'], { DATABASE_URL: CLOSED, LOG_LEVEL: 'debug' })
  expect(stderr).toMatch(/\n\s+at /)
})

test('colour only where it is wanted', async () => {
  const coloured = async (env: Record<string, string>) => (await paidonce(['nonsense'], env)).stderr.includes('\u001b[')
  expect(await coloured({})).toBe(false)
  expect(await coloured({ FORCE_COLOR: '1' })).toBe(true)
  expect(await coloured({ NO_COLOR: '1' })).toBe(false)
})

test('order states prints the table of the documents, and every cell as JSON', async () => {
  const { code, stdout } = await paidonce(['order', 'states'])
  expect([code, stdout]).toEqual([0, readFileSync(new URL('../../docs/order-states.md', import.meta.url), 'utf8')])
  const { json: printed } = await paidonceJson(['order', 'states'])
  const json = printed as Record<string, Record<string, Record<string, string>>>
  expect(Object.keys(json['facts'] ?? {})).toHaveLength(6)
  // Cell by cell the same words as the documents, ⇄ included.
  for (const [table, kinds] of [
    ['facts', FACT_KINDS],
    ['commands', COMMAND_KINDS],
  ] as const)
    for (const status of STATUSES) {
      const cells = kinds.map((kind) => json[table]?.[status]?.[kind])
      expect(stdout).toContain(`\n| **${status}** | ${cells.join(' | ')} |\n`)
    }
  expect(json['commands']?.['paid']?.['close']).toContain('already_paid')
})

test('config check lists every mistake of every process at once, offline', async () => {
  const env = { DATABASE_URL: 'mysql://x', KAFKA_BROKERS: ' , ', PORT: '70000', LOG_LEVEL: 'loud' }
  const { code, json: printed } = await paidonceJson(['config', 'check', 'api', 'processor', '--offline'], env)
  const json = printed as { checks: { check: string; result: string; detail: string }[] }
  expect(code).toBe(1)
  expect(json.checks.map(({ check, result }) => [check, result])).toEqual([
    ['environment of api', 'problem'],
    ['environment of processor', 'problem'],
  ])
  for (const name of ['DATABASE_URL', 'PORT', 'LOG_LEVEL']) expect(json.checks[0]?.detail).toContain(name)
  for (const name of ['DATABASE_URL', 'KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL'])
    expect(json.checks[1]?.detail).toContain(name)
})

test('the reconciler is checked where there are keys for it, and by its name', async () => {
  const checked = async (env: Record<string, string>, ...names: string[]) => {
    const { json } = await paidonceJson(['config', 'check', ...names, '--offline'], env)
    return (json as { checks: { check: string }[] }).checks.map(({ check }) => check)
  }
  const all = ['environment of api', 'environment of gateway', 'environment of processor']
  expect(await checked({})).toEqual(all)
  expect(await checked({ QUERY_KEYS_DIR: '/nowhere' })).toEqual([...all, 'environment of reconciler'])
  expect(await checked({}, 'reconciler')).toEqual(['environment of reconciler'])
})

test('config check reads the merchants’ files though the environment is wrong, and lists both', async () => {
  const env = { MERCHANTS_DIR: '/nowhere', PORT: '0x50', KAFKA_SASL_USERNAME: 'u' }
  const { code, json: printed } = await paidonceJson(['config', 'check', 'gateway', '--offline'], env)
  const [check] = (printed as { checks: { detail: string }[] }).checks
  expect(code).toBe(1)
  for (const what of [
    'PORT',
    'KAFKA_BROKERS',
    'KAFKA_SASL_PASSWORD',
    'SCHEMA_REGISTRY_URL',
    'cannot read this directory',
  ])
    expect(check?.detail).toContain(what)
})

test.each([
  [
    ['lane', 'status'],
    ['KAFKA_BROKERS', 'DATABASE_URL', 'APP_ID'],
  ],
  [
    ['lane', 'resume', '1', '--reason', 'r'],
    ['DATABASE_URL', 'APP_ID'],
  ],
  [
    ['order', 'timeline', 'acme', 'x'],
    ['DATABASE_URL', 'APP_ID'],
  ],
])('%j names every variable that it lacks at once', async (args, names) => {
  const { code, stderr } = await paidonce(args, { APP_ID: 'A B' })
  expect(code).toBe(2)
  for (const name of names) expect(stderr).toContain(name)
})

test('what others wrote cannot move the cursor or turn the text round', () => {
  expect(printable('a\u001b[2Jb\r\n\u202ec\u200b')).toBe('a\\u{1b}[2Jb\\u{d}\\u{a}\\u{202e}c\\u{200b}')
  expect(table(['x'], [['a\nb']])).toContain('a\\u{a}b')
  expect(table(['x'], [[['a', 'b\u001b']]])).toMatch(/a .*\n.*b\\u\{1b\}/)
  expect(listing({ a: 1, long: 'x\u0007', none: null })).toBe('a     1\nlong  x\\u{7}')
})

test('durations and integers', () => {
  expect(['90s', '15m', '12h', '30d'].map(durationSec)).toEqual([90, 900, 43_200, 2_592_000])
  for (const bad of ['0d', '5', 'd', '1w', '-1d', '1.5h']) expect(() => durationSec(bad)).toThrow()
  for (const bad of ['', ' 1', '1.0', '0x1', '11']) expect(() => integer(1, 10)(bad)).toThrow()
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTopicAdmin } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC, TOPICS } from '../../src/schemas/topics.ts'
import { haltLane } from '../../src/store/lane-row.ts'
import { readTopology } from '../../src/store/topology.ts'
import { createInstallation, MERCHANT, payment, type Installation } from '../helpers/installation.ts'
import { createDatabase, type TestDatabase } from '../helpers/database.ts'
import { groupTool } from '../helpers/groups.ts'
import { stackEnv } from '../helpers/stack.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

let it: Installation
let env: Record<string, string>
beforeAll(async () => {
  it = await createInstallation()
  env = it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>
})
afterAll(() => it.drop())

test('migrate: what is missing, once, and nothing in a dry run', async () => {
  const server = new URL(env['DATABASE_URL'] ?? '')
  const name = `${server.pathname.slice(1)}_cli`
  await it.database.pool.query(`create database ${name}`)
  server.pathname = `/${name}`
  const empty = { DATABASE_URL: server.href }
  const run = async (...args: string[]) => (await paidonceJson(['migrate', ...args], empty)).json
  try {
    const missing = (await run('--dry-run')) as { missing: string[] }
    expect(missing.missing[0]).toBe('0001_init.sql')
    expect(await paidonce(['token', 'list'], empty)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('Run: paidonce migrate') as string,
    })
    expect(await run()).toEqual({ applied: missing.missing })
    expect(await run()).toEqual({ applied: [] })
    expect(await paidonce(['token', 'list'], empty)).toMatchObject({ code: 0, stdout: '(none)\n' })
  } finally {
    await it.database.pool.query(`drop database ${name} with (force)`)
  }
})

describe('topics, schemas and config check', () => {
  const prefix = `cli${Date.now().toString(36)}.`
  let kafka: Record<string, string>
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase()
    kafka = { ...stackEnv(), TOPIC_PREFIX: prefix, DATABASE_URL: database.url }
  })
  afterAll(async () => {
    const brokers = stackEnv().KAFKA_BROKERS.split(',')
    const admin = createTopicAdmin({ brokers, ssl: false }, createLog('test', 'silent'))
    await admin.deleteTopics(TOPICS.map((topic) => prefix + topic))
    await admin.close()
    await database.drop()
  })
  const create = async (...args: string[]) =>
    (await paidonceJson(['topics', 'create', ...args], kafka)) as {
      code: number
      json: {
        topics: { topic: string; state: string; partitions: number }[]
        problems: { topic: string; problem: string }[]
      }
    }
  const check = async () => {
    const { code, json } = await paidonceJson(['config', 'check', 'api'], kafka)
    const { checks } = json as { checks: { check: string; result: string; detail: string }[] }
    return {
      code,
      results: Object.fromEntries(checks.map((c) => [c.check, c.result])),
      details: JSON.stringify(checks),
    }
  }

  test('before they are there, config check names each with its remedy', async () => {
    const { code, results, details } = await check()
    expect([code, results]).toEqual([
      1,
      { 'environment of api': 'ok', postgres: 'ok', topics: 'problem', schemas: 'problem' },
    ])
    expect(details).toContain('paidonce topics create')
    expect(details).toContain('paidonce schemas register')
  })

  test('a dry run creates nothing; then all are created with their settings, and the count is recorded', async () => {
    const dry = await create('--partitions', '3', '--dry-run')
    expect([dry.code, new Set(dry.json.topics.map(({ state }) => state))]).toEqual([0, new Set(['would be created'])])
    const first = await create('--partitions', '3')
    expect([first.code, first.json.topics.map(({ topic }) => topic)]).toEqual([
      0,
      TOPICS.map((topic) => prefix + topic),
    ])
    expect(new Set(first.json.topics.map(({ state, partitions }) => `${state} ${partitions}`))).toEqual(
      new Set(['created 3']),
    )
    const again = await create('--partitions', '3')
    expect([again.code, again.json.topics[0]?.state]).toEqual([0, 'exists'])
    expect(await readTopology(database.pool, prefix + INPUT_TOPIC)).toBe(3)
  })

  test('another partition count is a finding, changes nothing and says what to do', async () => {
    const other = await create('--partitions', '4')
    expect(other.code).toBe(1)
    expect(other.json.problems).toHaveLength(TOPICS.length)
    expect(other.json.problems[0]?.problem).toContain('has 3 partitions, 4 are expected')
  })

  test('more replicas than the topics have is a finding, dry run or not, and changes nothing', async () => {
    for (const more of [[], ['--dry-run']]) {
      const { code, json } = await create('--partitions', '3', '--replication', '3', ...more)
      expect([code, json.problems.map(({ topic }) => topic)]).toEqual([1, TOPICS.map((topic) => prefix + topic)])
      expect(json.problems[0]?.problem).toBe('has 1 replicas of a partition, 3 are wanted')
    }
    expect((await create('--partitions', '3', '--replication', '1')).code).toBe(0)
  })

  test('schemas: a dry run, registered once, unchanged after', async () => {
    const run = async (...args: string[]) =>
      (await paidonceJson(['schemas', 'register', ...args], kafka)).json as { subjects: { kind: string }[] }
    expect((await run('--dry-run')).subjects).toHaveLength(TOPICS.length)
    expect(new Set((await run()).subjects.map(({ kind }) => kind))).toEqual(new Set(['registered']))
    expect(new Set((await run()).subjects.map(({ kind }) => kind))).toEqual(new Set(['unchanged']))
    const { code, results } = await check()
    expect([code, results]).toEqual([0, { 'environment of api': 'ok', postgres: 'ok', topics: 'ok', schemas: 'ok' }])
  })

  test('what does not answer is undecided: exit 3', async () => {
    const { code, json } = await paidonceJson(['config', 'check', 'api'], {
      ...kafka,
      SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
    })
    expect(code).toBe(3)
    expect((json as { checks: { check: string; result: string }[] }).checks.at(-1)).toMatchObject({
      ...{ check: 'schemas', result: 'undecided' },
    })
  })
})

test('token: made, listed without its secret, revoked; names are used once', async () => {
  const make = ['token', 'create', '--name', 'shop-1', '--merchant', 'shop', '--expires-in', '30d']
  expect(await paidonceJson([...make, '--dry-run'], env)).toMatchObject({ code: 0, json: { name: 'shop-1' } })
  const { json } = await paidonceJson(make, env)
  const { token, expires_at: expiresAt } = json as { token: string; expires_at: string }
  expect(token).toMatch(/^po_[A-Za-z0-9_-]{43}$/)
  expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(29.9 * 86_400_000)
  const listed = await paidonceJson(['token', 'list'], env)
  expect(listed.json).toMatchObject({
    tokens: [{ name: 'shop-1', role: 'merchant', merchant: 'shop', state: 'valid' }],
  })
  expect(JSON.stringify(listed.json)).not.toContain(token)
  expect(await paidonce(make, env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('exists or existed') as string,
  })

  const revoke = ['token', 'revoke', '--name', 'shop-1']
  expect(await paidonce(revoke, env)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') as string })
  expect(await paidonce([...revoke, '--dry-run'], env)).toMatchObject({ code: 0, stdout: 'would revoke shop-1\n' })
  expect(await paidonce([...revoke, '--yes'], env)).toMatchObject({ code: 0 })
  expect((await paidonceJson(['token', 'list'], env)).json).toMatchObject({ tokens: [{ state: 'revoked' }] })
  expect(await paidonce(['token', 'revoke', '--name', 'nobody', '--yes'], env)).toMatchObject({ code: 1 })
})

test('order show and timeline; an unknown one is a finding', async () => {
  await it.createOrders(['t-1'], '{"sku":1}')
  const { rows } = await it.database.pool.query<{ id: string }>(`select id from orders where out_trade_no = 't-1'`)
  await it.database.pool.query(
    `insert into deliveries (lane, kafka_offset, day, order_id, provider, source, event_type, provider_ref, outcome, received_at)
     values (0, 5, '2026-01-01', $1, 'wechatpay', 'callback', 'payment_succeeded', $2, 'held', '2026-01-01T00:00:00Z')`,
    [rows[0]?.id, 'wechatpay:\u001b[2J'],
  )
  expect(await paidonceJson(['order', 'show', MERCHANT, 't-1'], env)).toMatchObject({
    code: 0,
    json: { merchant: MERCHANT, out_trade_no: 't-1', status: 'pending', amount_minor: 100, has_payload: true },
  })
  const { code, stdout } = await paidonce(['order', 'timeline', MERCHANT, 't-1'], env)
  expect(code).toBe(0)
  expect(stdout).toMatch(/delivery held .*payment_succeeded wechatpay:\\u\{1b\}\[2J at 0\/5/)
  expect(stdout).not.toContain('\u001b')
  expect((await paidonceJson(['order', 'timeline', MERCHANT, 't-1'], env)).json).toMatchObject({
    ...{ order: { status: 'pending' }, facts: [], events: [], deliveries: [{ outcome: 'held', offset: 5 }] },
  })
  expect(await paidonce(['order', 'show', MERCHANT, 'nothing'], env)).toMatchObject({
    ...{ code: 1, stdout: '', stderr: expect.stringContaining('There is no order nothing of shop') as string },
  })
})

test('an event is emitted as the ledger says, and without Kafka only what is settled is sure', async () => {
  const outTradeNo = ['e1', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7', 'e8'].find((text) => it.laneOf(text) === 2) ?? 'e'
  await it.createOrders([outTradeNo])
  await it.database.pool.query(
    `insert into events (lane, lane_seq, topic, event_id, kind, order_id, merchant, key, sequence, cause, occurred_at)
     select lane, n, 'fulfillment.shipment.v1', gen_random_uuid(), 'ship', id, merchant, out_trade_no, n - 3, 'x', now()
     from orders, generate_series(4, 6) n where out_trade_no = $1`,
    [outTradeNo],
  )
  await it.database.pool.query(
    `insert into lanes (topic, lane, start_offset, applied_offset, next_seq, settled_seq) values ($1, 2, 0, 0, 7, 5)`,
    [it.topics.name(INPUT_TOPIC)],
  )
  await groupTool(it).set('ledger', 2, 6, true)
  const said = async (of: Record<string, string>) =>
    [
      ...(await paidonce(['order', 'timeline', MERCHANT, outTradeNo], of)).stdout.matchAll(/no\. \d, ([a-z ]*[a-z])/g),
    ].map(([, words]) => words)
  expect(await said(env)).toEqual(['emitted', 'emitted', 'not emitted yet'])
  expect(await said({ ...env, KAFKA_BROKERS: '' })).toEqual(['emitted', 'perhaps not emitted', 'perhaps not emitted'])
  await it.database.pool.query(`delete from lanes`)
})

test('lane status and resume', async () => {
  const topic = it.topics.name(INPUT_TOPIC)
  const key = ['k0', 'k1', 'k2', 'k3', 'k4', 'k5'].find((text) => it.laneOf(text) === 1) ?? 'k'
  await it.send([payment(key), payment(key)])
  await it.database.pool.query(
    `insert into lanes (topic, lane, start_offset, applied_offset, next_seq, settled_seq, fences)
     values ($1, 0, 0, 0, 0, 0, 1), ($1, 1, 0, 1, 9, 4, 2)`,
    [topic],
  )
  await groupTool(it).set('ledger', 1, 7, true)
  expect(await paidonceJson(['lane', 'status'], env)).toMatchObject({
    code: 0,
    json: {
      lanes: [
        { lane: 0, halted: null, lag: 0, ledger: null, not_emitted: null },
        ...[
          {
            lane: 1,
            applied_offset: 1,
            log_end: 2,
            lag: 1,
            next_seq: 9,
            ledger: 7,
            ledger_has_mark: true,
            not_emitted: 2,
          },
        ],
      ],
    },
  })

  await haltLane(it.database.pool, topic, 1, { reason: 'log_trimmed', detail: 'the log starts at 5' })
  const halted = await paidonce(['lane', 'status'], env)
  expect(halted.code).toBe(1)
  expect(halted.stdout).toContain('Lane 1 is halted: log_trimmed')
  expect(halted.stdout).toContain('Remedy: retention removed records')

  const resume = ['lane', 'resume', '1', '--reason', 'records brought back']
  expect(await paidonce(resume, env)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') as string })
  expect(await paidonceJson([...resume, '--dry-run'], env)).toMatchObject({ json: { result: 'would_resume' } })
  expect(await paidonceJson([...resume, '--yes', '--actor', 'mei'], env)).toMatchObject({
    ...{ code: 0, json: { lane: 1, result: 'resumed', halted: 'log_trimmed' } },
  })
  expect(await paidonceJson([...resume, '--yes'], env)).toMatchObject({ code: 0, json: { result: 'not_halted' } })
  const { rows } = await it.database.pool.query('select actor, action, reason, target from operator_actions')
  expect(rows).toMatchObject([
    { actor: 'mei', action: 'lane_resume', reason: 'records brought back', target: { lane: 1 } },
  ])
  expect(await paidonce(['lane', 'resume', '77', '--reason', 'x', '--yes'], env)).toMatchObject({ code: 1 })
})

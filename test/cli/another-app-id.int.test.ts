import { afterAll, beforeAll, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi } from '../../src/api/start.ts'
import { readAuditConfig } from '../../src/reconcile/audit/config.ts'
import { runAudit } from '../../src/reconcile/audit/start.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { haltLane } from '../../src/store/lane-row.ts'
import { listTopologies } from '../../src/store/topology.ts'
import { groupTool } from '../helpers/groups.ts'
import { createInstallation, MERCHANT, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { clientsOf, fakeClient, NOT_PAID, startTestReconciler } from '../helpers/reconciler.ts'
import { until } from '../helpers/until.ts'
import { paidonceHere } from './paidonce-here.ts'

/** A verb with an APP_ID or a TOPIC_PREFIX that is not that of the processors of its database. */
let it: Installation
beforeAll(async () => {
  it = await createInstallation({ partitions: 1 })
  await it.createOrders(['A1'])
  await it.send([payment('A1')])
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], 1)
    await until('all is out', () => processor.lanes()[0]?.ledger === 3)
  } finally {
    await processor.stop()
  }
}, 60_000)
afterAll(() => it.drop())

const paidonce = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  paidonceHere(args, it.env({ LOG_LEVEL: 'silent', ...more }))
const state = async () => {
  const { rows } = await it.database.pool.query(
    `select (select count(*) from operator_actions) as actions, (select count(*) from brakes) as brakes,
       (select count(*) from audit_runs) as runs, to_jsonb(l) as lane from lanes l`,
  )
  return { rows: rows as unknown[], ledgers: await groupTool(it).offsets('ledger') }
}
const WHY = ['--reason', 'test', '--yes']
const VERBS: readonly (readonly string[])[] = [
  ['lane', 'status'],
  ['lane', 'rebuild', '0', ...WHY],
  ['lane', 'rebuild', '0', '--reason', 'test', '--dry-run'],
  ['lane', 'rebuild', '--lanes', 'all', ...WHY],
  ['lane', 'resume', '0', ...WHY],
  ['lane', 'skip', '0', '--from', '1', '--to', '2', ...WHY],
  ['brake', 'set', '--event-type', 'ship', '--reason', 'test'],
  ['brake', 'release', '1', ...WHY],
  ['audit', 'run', '--since', '1d'],
  ['audit', 'run', '--resume'],
  ['anomaly', 'resolve', '--all', '--resolution', 'ignore', ...WHY],
  ['order', 'timeline', MERCHANT, 'A1'],
]

test('a processor has said whose the lanes are', async () => {
  const topic = it.topics.name(INPUT_TOPIC)
  expect(await listTopologies(it.database.pool)).toEqual([{ topic, appId: it.topics.appId }])
})

test.each(VERBS.map((args) => [args.join(' '), args] as const))(
  'another APP_ID, another TOPIC_PREFIX: `%s` refuses, names it and the remedy, and changes nothing',
  async (_name, args) => {
    await haltLane(it.database.pool, it.topics.name(INPUT_TOPIC), 0, { reason: 'ledger_missing', detail: 'test' })
    const before = await state()
    const other = await paidonce(args, { APP_ID: 'another' })
    expect([other.code, other.stdout, other.stderr]).toEqual([
      ...[2, ''],
      `error: APP_ID is 'another', and the lanes of ${it.topics.name(INPUT_TOPIC)} are ${it.topics.appId}'s.\nSet APP_ID=${it.topics.appId}.\n`,
    ])
    const elsewhere = await paidonce(args, { TOPIC_PREFIX: 'wrong.' })
    expect([elsewhere.code, elsewhere.stdout]).toEqual([2, ''])
    expect(elsewhere.stderr).toContain(`TOPIC_PREFIX is 'wrong.', and this database knows no wrong.${INPUT_TOPIC}.`)
    expect(elsewhere.stderr).toContain(`Set TOPIC_PREFIX=${it.topics.prefix}`)
    expect(await state()).toEqual(before)
  },
)

test('a processor with another APP_ID ends, and halts no lane of the others', async () => {
  await it.database.pool.query('update lanes set halted_reason = null, halted_detail = null, halted_at = null')
  const fatal: Error[] = []
  const other = await startTestProcessor(it, { APP_ID: 'another' }, { onFatal: (error) => fatal.push(error) })
  try {
    const [error] = await until('it ends', () => fatal.length > 0 && fatal)
    expect(error?.name).toBe('WrongTopology')
    expect(error?.message).toContain(`set APP_ID=${it.topics.appId}`)
  } finally {
    await other.stop()
  }
  const { rows } = await it.database.pool.query('select halted_reason from lanes')
  expect(rows).toEqual([{ halted_reason: null }])
})

test('an api with another APP_ID ends, and until then it creates no order', async () => {
  const fatal: Error[] = []
  const env = it.env({ APP_ID: 'another', PORT: '0', METRICS_PORT: '0' })
  const api = await startApi(readApiConfig(env), {
    log: createLog('api', 'silent'),
    onFatal: (error) => fatal.push(error),
  })
  try {
    const [error] = await until('it ends', () => fatal.length > 0 && fatal)
    expect(error?.name).toBe('BadConfiguration')
    expect(error?.message).toContain(`APP_ID is another, and the lanes of ${it.topics.name(INPUT_TOPIC)} are`)
    expect(error?.message).toContain(`set APP_ID=${it.topics.appId}`)
    const ready = await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('set APP_ID=')])
  } finally {
    await api.stop()
  }
})

test('a reconciler with another APP_ID ends, and asks nobody', async () => {
  const fatal: Error[] = []
  const client = fakeClient(() => NOT_PAID)
  const deps = { onFatal: (error: Error) => fatal.push(error), log: createLog('reconcile', 'silent') }
  const reconciler = await startTestReconciler(it, clientsOf({ wechatpay: client }), { APP_ID: 'another' }, deps)
  try {
    const [error] = await until('it ends', () => fatal.length > 0 && fatal, 30_000)
    expect(error?.name).toBe('BadConfiguration')
    expect(error?.message).toContain(`set APP_ID=${it.topics.appId}`)
    expect(client.asked).toEqual([])
  } finally {
    await reconciler.stop()
  }
})

test('an audit that was stopped does not go on with something else', async () => {
  const { pool } = it.database
  const audit = (window: { sinceMs: number; untilMs: number } | undefined, more: Record<string, string> = {}) => {
    const request = { actor: 'test', window, onProgress: () => undefined }
    return runAudit(readAuditConfig(it.env(more)), pool, request, createLog('audit', 'silent'))
  }
  const window = { sinceMs: Date.now() - 86_400_000, untilMs: Date.now() + 1_000 }
  expect(await audit(window)).toMatchObject({ kind: 'done', report: { result: 'ok' } })
  await pool.query('update audit_runs set finished_at = null, result = null, digest = null')
  expect(await audit(undefined, { APP_ID: 'another' })).toEqual({
    kind: 'other_scope',
    detail: `Run 1, which was stopped, looked at something else: APP_ID was '${it.topics.appId}', and is 'another'.`,
  })
  expect(await audit(undefined, { TOPIC_PREFIX: 'wrong.' })).toMatchObject({ kind: 'other_scope' })
  expect((await paidonce(['audit', 'run', '--resume', '--since', '2d'])).code).toBe(2)
  await pool.query(`update audit_runs set scope = scope || '{"kafkaCluster": "old"}'`)
  const moved = await paidonce(['audit', 'run', '--resume'])
  expect([moved.code, moved.stderr]).toEqual([2, expect.stringContaining(`(KAFKA_BROKERS) was 'old', and is '`)])
  expect((await pool.query('select id from audit_runs where finished_at is not null')).rows).toEqual([])
})

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi, type Api } from '../../src/api/start.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { mintToken, type Role } from '../../src/runtime/access-token.ts'
import { ConfigResourceTypes, Kafka, logLevel } from '../../src/runtime/kafka/kafkajs.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { REPLAY_RUNS_MAX } from '../../src/store/request-replay.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { givenLetters } from '../helpers/dead-letters.ts'
import { createInstallation, MERCHANT, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'
import { callWith, type Answer, type Call } from './start-api.ts'

let it: Installation
let processor: RunningProcessor
let api: Api
let operator: Call
let own: Call
beforeAll(async () => {
  it = await createInstallation()
  processor = await startTestProcessor(it)
  await untilSettled([processor], it.topics.partitions)
  api = await startApi(readApiConfig(it.env({ LOG_LEVEL: 'silent' })), { log: createLog('api', 'silent') })
  const as = async (name: string, role: Role, merchant: string | null) => {
    const { token, hash } = mintToken()
    await insertApiToken(it.database.pool, { name, tokenHash: hash, role, merchant, expiresAtMs: null })
    return callWith(`http://127.0.0.1:${api.port}`, token)
  }
  operator = await as('ann', 'operator', null)
  own = await as('bob', 'operator', MERCHANT)
  await until('the api is ready', async () => (await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)).ok)
})
afterAll(async () => {
  await api.stop()
  await processor.stop()
  await it.drop()
})

const replay = (body: object, key = randomUUID(), call = operator) =>
  call('POST', '/v1/replays', { reason: 'a schema appeared', ...body }, { 'idempotency-key': key })
interface Run {
  readonly id: number
  readonly state: string
  readonly results: Record<string, number>
}
const runOf = ({ body }: Answer) => body['run'] as Run
const untilDone = (asked: Answer) =>
  until('the replay is done', async () => {
    const { body } = await operator('GET', asked.headers.get('location') ?? '')
    return (
      (body['run'] as Run).state === 'done' && (body as unknown as { run: Run; records: Record<string, unknown>[] })
    )
  })
const actions = async (action: string) =>
  (await it.database.pool.query(`select actor, reason from operator_actions where action = $1 order by id`, [action]))
    .rows as unknown[]

test('a dry run counts by reason, says what would be refused, and does nothing', async () => {
  const [id] = await givenLetters(it, ['D1'])
  const dry = { dry_run: true, filter: { reasons: ['unknown_schema'] } }
  const answer = await operator('POST', '/v1/replays', { ...dry, reason: 'r' })
  expect(answer).toMatchObject({
    status: 200,
    body: { run: null, plan: { to_replay: 1, by_reason: { unknown_schema: 1 } } },
  })
  const ids = await replay({ dry_run: true, filter: { ids: [id, id, 999_999] } })
  expect(ids.body['plan']).toMatchObject({ to_replay: 1, not_there: 1, refused_count: 0 })
  expect((await replay({ dry_run: true, filter: { until: '2020-01-01T00:00:00Z' } })).body['plan']).toMatchObject({
    to_replay: 0,
  })
  expect((await operator('GET', '/v1/replays')).body['replays']).toEqual([])
  expect(await actions('dead_letters_replay')).toEqual([])
})

test('asked for over HTTP it is sent, applied, and reported record by record; again it is a duplicate', async () => {
  const orders = Array.from({ length: 7 }, (_, index) => `R${index}`)
  const ids = await givenLetters(it, orders)
  const key = randomUUID()
  const [asked, twin] = await Promise.all([replay({ filter: { ids } }, key), replay({ filter: { ids } }, key)])
  expect([asked.status, twin.status, runOf(asked).id]).toEqual([202, 202, runOf(twin).id])
  expect(asked.body['plan']).toEqual(twin.body['plan'])
  expect((await replay({ filter: { ids }, quarantined: true }, key)).status).toBe(422)
  const done = await untilDone(asked)
  expect(done.run.results).toMatchObject({ applied: 7, not_sent: 0, not_met: 0 })
  expect(done.records.map(({ dead_letter: letter, result }) => [letter, result])).toEqual(
    ids.map((id) => [id, 'applied']),
  )
  expect(await actions('dead_letters_replay')).toEqual([{ actor: 'ann', reason: 'a schema appeared' }])

  const again = await replay({ filter: { ids } })
  expect((await untilDone(again)).run.results).toMatchObject({ duplicate: 7, applied: 0 })
  const events = await readEvents(it.topics, { atLeast: 3 * orders.length })
  expect(checkExactlyOnce(orders, events)).toEqual(nothingWrong(orders))

  const first = await operator('GET', `${asked.headers.get('location')}?limit=4`)
  const rest = await operator('GET', `${asked.headers.get('location')}?limit=4&cursor=${String(first.body['next'])}`)
  const records = [first, rest].flatMap(({ body }) => body['records'] as { dead_letter: number }[])
  expect([records.map((one) => one.dead_letter), rest.body['next']]).toEqual([ids, null])
  expect((await operator('GET', `${asked.headers.get('location')}?result=refused`)).body['records']).toEqual([])
  const page = await operator('GET', '/v1/replays?limit=1')
  const older = await operator('GET', `/v1/replays?limit=1&cursor=${String(page.body['next'])}`)
  expect([page, older].map(({ body }) => (body['replays'] as Run[])[0]?.id)).toEqual([runOf(again).id, runOf(asked).id])
  const resumed = await operator('POST', `${asked.headers.get('location')}/resume`, { reason: 'r' })
  expect(resumed).toMatchObject({ status: 200, body: { state: 'done' } })
  expect(await actions('dead_letters_replay_resume')).toEqual([])
})

test('what nobody mended fails again; the fifth time it is quarantined, and refused without its name', async () => {
  const bad = { value: Buffer.from([9, 9]) }
  const ids = [
    ...(await givenLetters(it, ['F1'], bad)),
    ...(await givenLetters(it, ['F2'], { ...bad, replayCount: 4 })),
  ]
  const { records } = await untilDone(await replay({ filter: { ids } }))
  expect(records).toMatchObject([
    { result: 'failed_again' },
    { result: 'quarantined', detail: /^dead letter \d+: undecodable/ },
  ])
  const { body } = await operator('GET', '/v1/dead-letters?status=quarantined')
  const [letter] = body['dead_letters'] as { id: number }[]
  const refused = await replay({ filter: { ids: [letter?.id] } })
  expect(refused).toMatchObject({
    status: 200,
    body: { run: null, plan: { refused: [{ id: letter?.id, why: 'quarantined' }] } },
  })
})

test('a token with a merchant: only what is that merchant’s, and only its own runs', async () => {
  const [foreign] = await givenLetters(it, ['M1'], { merchant: 'globex' })
  const [mine] = await givenLetters(it, ['M2'], { merchant: MERCHANT })
  expect((await replay({ filter: { merchant: 'globex' } }, randomUUID(), own)).status).toBe(403)
  const asked = await replay({ filter: { ids: [foreign, mine] } }, randomUUID(), own)
  expect(asked.body['plan']).toMatchObject({ to_replay: 1, not_there: 1 })
  await untilDone(asked)
  expect((await own('GET', '/v1/replays')).body['replays']).toMatchObject([{ id: runOf(asked).id, merchant: MERCHANT }])
  const other = `/v1/replays/${runOf(asked).id - 1}`
  expect((await own('GET', other)).status).toBe(404)
  expect((await own('POST', `${other}/resume`, { reason: 'r' })).status).toBe(404)
})

test('what Kafka says no to stops the run with the reason; a person lets it go on', async () => {
  const ids = await givenLetters(it, ['S1', 'S2'])
  await takeAtMost(100)
  const asked = await replay({ filter: { ids } })
  const at = asked.headers.get('location') ?? ''
  const stopped = await until('it is stopped', async () => {
    const { run } = (await operator('GET', at)).body as { run: Run & { trouble: string } }
    return run.state === 'stopped' && run
  })
  expect(stopped).toMatchObject({ trouble: /^KafkaJSProtocolError: .*larger/, results: { not_sent: 2 } })
  await takeAtMost(1_048_588)
  const resumed = await operator('POST', `${at}/resume`, { reason: 'the topic takes them now' })
  expect(resumed).toMatchObject({ status: 202, body: { state: 'sending', trouble: null } })
  expect((await untilDone(asked)).run.results).toMatchObject({ applied: 2 })
  expect(await actions('dead_letters_replay_resume')).toEqual([{ actor: 'ann', reason: 'the topic takes them now' }])
})

/** Sets the input topic's largest batch, and waits until its leaders know. */
async function takeAtMost(bytes: number) {
  const name = it.topics.name(INPUT_TOPIC)
  const admin = new Kafka({ brokers: it.env()['KAFKA_BROKERS']?.split(',') ?? [], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  const configEntries = [{ name: 'max.message.bytes', value: String(bytes) }]
  const resource = { type: ConfigResourceTypes.TOPIC, name }
  await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] })
  await until('the broker has it', async () => {
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] })
    return resources[0]?.configEntries.some(
      (entry) => entry.configName === 'max.message.bytes' && entry.configValue === String(bytes),
    )
  })
  await admin.disconnect()
}

test('as many runs as may wait: refused; a request without a choice, a key or a reason is told which', async () => {
  const { pool } = it.database
  const [id] = await givenLetters(it, ['L1'])
  await pool.query(
    `with r as (insert into replay_runs (actor, reason, filter)
       select 'x', 'x', '{"topic":"another"}' from generate_series(1, $1) returning id)
     insert into replays (run_id, dead_letter_id, count, lane) select r.id, $2, 1, 0 from r`,
    [REPLAY_RUNS_MAX, id],
  )
  expect((await replay({ filter: { all: true } })).body).toMatchObject({ status: 409, type: /too_many_replays$/ })
  await pool.query('delete from replays where dead_letter_id = $1', [id])
  for (const [body, field] of [
    [{ filter: {} }, 'filter'],
    [{ filter: { ids: [1], lane: 0 } }, 'filter.ids'],
    [{ filter: { all: true }, reason: ' ' }, 'reason'],
    [{ filter: { all: true }, dryRun: true }, 'dryRun'],
  ] as const)
    expect((await replay(body)).body).toMatchObject({ status: 400, field })
  expect((await operator('POST', '/v1/replays', { filter: { all: true }, reason: 'r' })).body).toMatchObject({
    ...{ status: 400, field: 'Idempotency-Key' },
  })
})

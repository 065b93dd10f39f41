import { afterAll, beforeAll, expect, test } from 'vitest'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { createDatabase, type TestDatabase } from '../helpers/database.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

let database: TestDatabase
let env: Record<string, string>
beforeAll(async () => {
  database = await createDatabase()
  env = { DATABASE_URL: database.url }
  await database.pool.query(
    `insert into lanes (topic, lane, start_offset, applied_offset, next_seq) values ($1, 0, 0, 5, 7), ($1, 1, 0, 5, 9)`,
    [INPUT_TOPIC],
  )
})
afterAll(() => database.drop())

const SET = ['brake', 'set', '--merchant', 'shop', '--event-type', 'ship', '--reason', 'wrong labels', '--actor', 'ann']

test('set names where each lane stops, list shows it, release lets it go; a dry run changes nothing', async () => {
  expect(await paidonce([...SET, '--dry-run'], env)).toMatchObject({
    ...{ code: 0, stdout: 'would keep back ship events of shop\n' },
  })
  expect((await paidonceJson(['brake', 'list'], env)).json).toEqual({ brakes: [] })
  const stops = [
    { lane: 0, lane_seq: 7 },
    { lane: 1, lane_seq: 9 },
  ]
  expect(await paidonceJson(SET, env)).toEqual({ code: 0, json: { id: 1, result: 'set', stops, untold: [] } })
  expect((await paidonce(SET, env)).stdout).toContain('brake 1 was set already and keeps back ship events of shop')
  await database.pool.query(
    `insert into waiting_events (lane, brake_id, topic, event_id, kind, key, cause, occurred_at, created_at)
     values (0, 1, 't', gen_random_uuid(), 'ship', 'k', 'c', now(), now() - interval '1 minute')`,
  )
  const { stdout } = await paidonce(['brake', 'list'], env)
  expect(stdout).toMatch(/1 +│ set +│ ship events of shop │ 1 +│ [67]\d s .* ann +│ wrong labels/)

  const release = ['brake', 'release', '1', '--reason', 'mended', '--actor', 'ben']
  expect(await paidonce(release, env)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') as string })
  expect(await paidonceJson([...release, '--dry-run'], env)).toEqual({
    ...{ code: 0, json: { id: 1, result: 'would_release', waiting: 1 } },
  })
  expect(await paidonceJson([...release, '--yes'], env)).toEqual({
    ...{ code: 0, json: { id: 1, result: 'released', waiting: 1, untold: [] } },
  })
  expect((await paidonceJson(['brake', 'list'], env)).json).toMatchObject({
    ...{ brakes: [{ id: 1, state: 'releasing', waiting: 1, released_by: 'ben', release_reason: 'mended' }] },
  })
  await database.pool.query('delete from waiting_events')
  expect(await paidonce(['brake', 'list'], env)).toMatchObject({ code: 0, stdout: '(none)\n' })
  expect(await paidonce([...release.with(2, '77'), '--yes'], env)).toMatchObject({ code: 1 })
  const { rows } = await database.pool.query('select actor, action from operator_actions order by id')
  expect(rows).toEqual([
    { actor: 'ann', action: 'brake_set' },
    { actor: 'ben', action: 'brake_release' },
  ])
}, 60_000)

test.each([
  [['--reason', 'r'], '--merchant or --event-type'],
  [['--order', 'x', '--event-type', 'ship', '--reason', 'r'], '--order needs --merchant'],
  [['--event-type', 'ships', '--reason', 'r'], 'It must be one of ship'],
  [['--merchant', 'shop'], '--reason'],
  [['--merchant', 'shop', '--event-type', 'dead_letter', '--reason', 'r'], 'names no merchant'],
])('brake set %j is refused with what is wrong', async (args, text) => {
  expect(await paidonce(['brake', 'set', ...args], env)).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining(text) as string },
  })
})

import { afterEach, expect, onTestFinished, test } from 'vitest'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@redis/client'
import type { Redis } from '../../../dev/parts/redis.ts'
import { createRepeatFilter, type FilterFailure, type RepeatFilter } from '../../../src/gateway/filter/repeat-filter.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { until } from '../../helpers/until.ts'

interface Watched {
  readonly filter: RepeatFilter
  readonly failures: FilterFailure[]
  readonly isUp: () => boolean
  readonly ask: (...keys: string[]) => Promise<boolean>
}

const OPERATIONS = join(import.meta.dirname, '../../../docs/operations.md')
let redis: Redis
afterEach(() => redis.stop())

/** With a patience that a busy machine does not use up, unless the test is about it. */
function filterOf(url: string, answerMsMax = 5_000, log = createLog('test', 'silent')): Watched {
  const failures: FilterFailure[] = []
  let up = false
  const filter = createRepeatFilter({
    ...{ url, answerMsMax, log },
    onUp: (is) => (up = is),
    onFailure: (reason) => failures.push(reason),
  })
  onTestFinished(() => filter.close())
  const ask = (...keys: string[]) => new Promise<boolean>((resolve) => filter.ask(keys, resolve))
  return { filter, failures, isUp: () => up, ask }
}

/** A filter that is up and knows `known`. */
async function knowing(settings: Parameters<typeof ownRedis>[0] = {}, answerMsMax?: number): Promise<Watched> {
  redis = await ownRedis(settings)
  const watched = filterOf(redis.url, answerMsMax)
  await until('Redis is asked', watched.isUp)
  watched.filter.remember(['known'])
  await until('it is known', () => watched.ask('known'))
  watched.failures.length = 0
  return watched
}

/** Commands from somebody else, as an operator gives them. */
async function operate(...commands: readonly (readonly string[])[]): Promise<unknown[]> {
  const client = createClient({ url: redis.url, RESP: 2 })
  await client.connect()
  try {
    return await Promise.all(commands.map((command) => client.sendCommand(command)))
  } finally {
    client.destroy()
  }
}

test('known is only what was remembered, all of it, and for 48 hours', async () => {
  const { filter, ask, failures } = await knowing()
  filter.remember(['a', 'b'])
  await until('both are known', () => ask('a', 'b'))
  expect(await Promise.all([ask('a'), ask('a', 'news'), ask('news'), ask()])).toEqual([true, false, false, false])
  const [seconds] = await operate(['TTL', 'a'])
  expect(seconds).toBeGreaterThan(172_700)
  expect(seconds).toBeLessThanOrEqual(172_800)
  expect(failures).toEqual([])
})

test('remembering it again does not make it last longer', async () => {
  const { filter, ask } = await knowing()
  await operate(['EXPIRE', 'known', '1000'])
  filter.remember(['known', 'after'])
  await until('the later is known', () => ask('after'))
  expect((await operate(['TTL', 'known']))[0]).toBeLessThanOrEqual(1_000)
})

test('those who ask in one turn share one question, and each gets the answer to its own', async () => {
  const { filter, ask } = await knowing()
  filter.remember(['k0', 'k2', 'k4'])
  await until('all are known', () => ask('k0', 'k2', 'k4'))
  await operate(['CONFIG', 'RESETSTAT'])
  const answers = await Promise.all([ask('k0', 'k2'), ask('k1'), ask('k4'), ask('k1', 'k2'), ask('k2'), ask('k3')])
  expect(answers).toEqual([true, false, true, false, true, false])
  const [stats] = await operate(['INFO', 'commandstats'])
  expect(String(stats)).toContain('cmdstat_mget:calls=1,')
})

test('nobody is answered before ask has returned', async () => {
  const { filter } = await knowing()
  await redis.kill()
  let returned = false
  const wasReturned = await new Promise((resolve) => {
    filter.ask(['known'], () => resolve(returned))
    returned = true
  })
  expect(wasReturned).toBe(true)
})

test('a frozen Redis is waited for three times in a row, then not asked until it answers again', async () => {
  const { ask, failures, isUp } = await knowing({}, 500)
  redis.freeze()
  for (let i = 0; i < 3; i++) expect(await ask('known')).toBe(false)
  expect(failures).toEqual(['late', 'late', 'late'])
  expect(await Promise.all([ask('known'), ask('known')])).toEqual([false, false])
  expect(failures.slice(3)).toEqual(['away'])
  expect(isUp()).toBe(false)
  redis.thaw()
  await until('it is known again', () => ask('known'))
})

test('a Redis that was slow once is asked again at once', async () => {
  const { ask, failures, isUp } = await knowing({ 'enable-debug-command': 'local' }, 1_000)
  const busy = operate(['DEBUG', 'SLEEP', '1.5'])
  await until('it is late', async () => !(await ask('known')))
  await busy
  // At most two more are late while its answers catch up.
  await until('it is known again', () => ask('known'))
  expect(new Set(failures)).toEqual(new Set(['late']))
  expect(isUp()).toBe(true)
})

test('a Redis that is killed and comes back empty knows nothing, and learns again', async () => {
  const { filter, ask, failures, isUp } = await knowing()
  await redis.kill()
  await until('it is given up', () => !isUp())
  expect(await ask('known')).toBe(false)
  filter.remember(['known'])
  await redis.restart()
  await until('Redis is asked', isUp)
  expect(await ask('known')).toBe(false)
  filter.remember(['known'])
  await until('it is known', () => ask('known'))
  expect(failures.filter((reason) => reason !== 'away' && reason !== 'refused')).toEqual([])
})

test('a flushed Redis knows nothing, and learns again', async () => {
  const { filter, ask } = await knowing()
  await operate(['FLUSHALL'])
  expect(await ask('known')).toBe(false)
  filter.remember(['known'])
  await until('it is known', () => ask('known'))
})

test('values of other kinds are not taken for known', async () => {
  const { filter, ask, failures } = await knowing()
  await operate(['RPUSH', 'list', 'x'], ['SET', 'text', 'x'], ['SET', 'empty', ''])
  filter.remember(['list', 'text', 'empty'])
  expect(await Promise.all(['list', 'text', 'empty', 'known'].map((key) => ask(key)))).toEqual([
    ...[false, false, false, true],
  ])
  expect(failures).toEqual([])
})

test('a full Redis says what it knows, and remembers nothing more', async () => {
  const { filter, ask, failures } = await knowing()
  await operate(['CONFIG', 'SET', 'maxmemory', '1'])
  filter.remember(['more'])
  await until('it refuses', () => failures.includes('not_remembered'))
  expect(await Promise.all([ask('known'), ask('more')])).toEqual([true, false])
})

test('a primary that has become a replica is left for the one at its address', async () => {
  const { filter, ask, failures, isUp } = await knowing()
  await operate(['REPLICAOF', '127.0.0.1', '1'])
  filter.remember(['more'])
  await until('it is given up', () => !isUp())
  expect(failures).toContain('not_remembered')
  await operate(['REPLICAOF', 'NO', 'ONE'])
  await until('it is known', () => ask('known'))
  const [clients] = await operate(['CLIENT', 'LIST'])
  expect(String(clients).match(/name=paidonce-gateway/g), 'connections that are left').toHaveLength(1)
})

test('one that refuses to answer is given up at once', async () => {
  const { ask, failures, isUp } = await knowing()
  await operate(['ACL', 'SETUSER', 'default', '-mget'])
  expect(await ask('known')).toBe(false)
  await until('it is given up', () => !isUp())
  expect(failures).toEqual(['refused'])
  await operate(['ACL', 'SETUSER', 'default', '+mget'])
  await until('it is known again', () => ask('known'))
})

test('one whose password is wrong, or changes, is not asked', async () => {
  redis = await ownRedis({ requirepass: 'right' })
  const wrong = filterOf(redis.url.replace('right', 'wrong'))
  expect(await wrong.ask('known')).toBe(false)
  expect(wrong.failures).toEqual(['away'])
  const { filter, ask, isUp } = filterOf(redis.url)
  await until('Redis is asked', isUp)
  filter.remember(['known'])
  await until('it is known', () => ask('known'))
  expect(wrong.isUp()).toBe(false)
})

test('a user that may do no more than is documented will do', async () => {
  redis = await ownRedis()
  const rights =
    /^- \*\*A user of its own\*\* needs `([^`]+)`/m.exec(readFileSync(OPERATIONS, 'utf8'))?.[1]?.split(' ') ?? []
  expect(rights).not.toEqual([])
  await operate(['ACL', 'SETUSER', 'gateway', 'on', '>secret', ...rights])
  const { filter, ask, isUp, failures } = filterOf(redis.url.replace('redis://', 'redis://gateway:secret@') + '/1')
  await until('Redis is asked', isUp)
  filter.remember(['pay_idempotent:{known}'])
  await until('it is known', () => ask('pay_idempotent:{known}'))
  expect(failures).toEqual([])
})

test('a node of a Redis Cluster is not asked, and the log says why and what to do', async () => {
  redis = await ownRedis({ 'cluster-enabled': 'yes' })
  const reasons: string[] = []
  const log = Object.assign(createLog('test', 'silent'), {
    warn: ({ error }: { error: { message: string } }) => reasons.push(error.message),
  })
  const [without, { isUp, ask }] = [filterOf(redis.url), filterOf(redis.url, 5_000, log)]
  await until('one without slots is refused', () => reasons.length > 0)
  await operate(['CLUSTER', 'ADDSLOTSRANGE', '0', '16383'])
  const [before] = [reasons.length]
  await until('one that has all slots is refused', () => reasons.length > before + 1)
  expect(new Set(reasons)).toEqual(new Set([expect.stringMatching(/Redis Cluster.*name a Redis without cluster mode/)]))
  expect([isUp(), without.isUp(), await ask('known')]).toEqual([false, false, false])
})

test('a question under way when it is closed is answered', async () => {
  const { filter, ask } = await knowing()
  redis.freeze()
  const asked = ask('known')
  await filter.close()
  expect(await asked).toBe(false)
  expect(await ask('known')).toBe(false)
})

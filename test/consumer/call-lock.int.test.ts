import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Redis } from '../../dev/parts/redis.ts'
import { createCallLock, LOCK_PREFIX, type CallLock, type LockCommands } from '../../src/consumer/call-lock.ts'
import { connectRedis } from '../../src/consumer/redis.ts'
import { createLog } from '../../src/runtime/log.ts'
import { ownRedis } from '../helpers/redis.ts'
import { until } from '../helpers/until.ts'

const log = createLog('test', 'silent')
const elapsedMs = () => performance.now()
let redis: Redis
let connections: LockCommands[]
let outcomes: string[]

beforeAll(async () => {
  redis = await ownRedis()
})
afterAll(() => redis.stop())
beforeEach(() => {
  connections = []
  outcomes = []
})
afterEach(() => Promise.all(connections.map((one) => one.close())))

async function connect(): Promise<LockCommands> {
  const connection = connectRedis(redis.url, log, elapsedMs)
  connections.push(connection)
  await until('Redis answers', () => connection.runScript('return 1', 'any', []))
  return connection
}
const lockOf = (connection: LockCommands, seconds = 1): CallLock =>
  createCallLock(connection, { seconds, elapsedMs, onOutcome: (outcome) => outcomes.push(outcome) })
const holderOf = (connection: LockCommands, order: string) =>
  connection.runScript(`return redis.call('get', KEYS[1])`, LOCK_PREFIX + order, [])
const take = async (lock: CallLock, order: string) => {
  const taken = await lock.take(order)
  if (taken.kind === 'taken') throw new Error('taken')
  return taken
}

test('one holds an order’s lock, with an end; the next has it once it is given back', async () => {
  const connection = await connect()
  const [mine, yours] = [lockOf(connection, 30), lockOf(await connect(), 30)]
  const held = await take(mine, 'a')
  expect(await yours.take('a')).toEqual({ kind: 'taken' })
  expect(await connection.runScript(`return redis.call('ttl', KEYS[1])`, 'pay_callback_lock:a', [])).toBe(30)
  expect((await yours.take('b')).kind).toBe('held')
  await held.release()
  expect((await yours.take('a')).kind).toBe('held')
})

/** One takes a lock, outlives it, and gives it back when it is another's. @returns whether the other still has it */
async function giveBackLate(of: (connection: LockCommands) => LockCommands, order: string): Promise<boolean> {
  const connection = await connect()
  const [mine, yours] = [lockOf(of(connection)), lockOf(await connect())]
  const held = await take(mine, order)
  // As if it had expired while its holder was frozen.
  await connection.runScript(`return redis.call('del', KEYS[1])`, LOCK_PREFIX + order, [])
  await take(yours, order)
  const token = await holderOf(connection, order)
  expect(token).not.toBeNull()
  await held.release()
  return (await holderOf(connection, order)) === token
}

test('whoever has outlived its lock gives back nobody else’s', async () => {
  expect(await giveBackLate((connection) => connection, 'c')).toBe(true)
})

test('without the comparison it would', async () => {
  const isDelete = /'del'/
  const blunt = (connection: LockCommands): LockCommands => ({
    ...connection,
    runScript: (script, key, args) =>
      connection.runScript(isDelete.test(script) ? `return redis.call('del', KEYS[1])` : script, key, args),
  })
  expect(await giveBackLate(blunt, 'c2')).toBe(false)
})

test('a lock is kept while its holder works, and noticed when it is lost', async () => {
  const connection = await connect()
  const held = await take(lockOf(connection), 'd')
  const token = await holderOf(connection, 'd')
  const startedMs = elapsedMs()
  await until('three times its time has passed', () => elapsedMs() - startedMs > 3_000)
  expect(await holderOf(connection, 'd')).toBe(token)
  await connection.runScript(`return redis.call('flushall')`, 'any', [])
  await until('the loss is noticed', () => outcomes.includes('lost'))
  await held.release()
})

test('a lock that somebody keeps longer than its time is passed by: the row decides', async () => {
  const connection = await connect()
  await connection.runScript(`return redis.call('set', KEYS[1], 'for ever')`, LOCK_PREFIX + 'e', [])
  const lock = lockOf(connection)
  expect(await lock.take('e')).toEqual({ kind: 'taken' })
  const passed = await until('it is passed by', async () => {
    const taken = await lock.take('e')
    return taken.kind === 'open' ? taken : undefined
  })
  await passed.release()
  expect(await holderOf(connection, 'e')).toBe('for ever')
})

test('without Redis, and while it is frozen, work goes on at once; with it again there are locks again', async () => {
  const lock = lockOf(await connect())
  redis.freeze()
  const startedMs = elapsedMs()
  expect((await lock.take('f')).kind).toBe('open')
  for (let n = 0; n < 100; n++) expect((await lock.take(`f${n}`)).kind).toBe('open')
  expect(elapsedMs() - startedMs).toBeLessThan(1_000)
  redis.thaw()
  await until('there are locks again', async () => (await lock.take('g')).kind === 'held')
  await redis.kill()
  expect((await lock.take('h')).kind).toBe('open')
  await redis.restart()
  await until('there are locks again', async () => (await lock.take('i')).kind === 'held')
})

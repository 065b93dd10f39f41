import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Redis } from '../../dev/parts/redis.ts'
import { FORMS } from '../../bench/patterns/forms/all.ts'
import { OURS } from '../../bench/patterns/our-system.ts'
import type { Leak } from '../../bench/patterns/play.ts'
import { runPattern } from '../../bench/patterns/run.ts'
import { ownRedis } from '../helpers/redis.ts'
import { printedRandom } from '../helpers/seed.ts'

let redis: Redis
beforeAll(async () => void (redis = await ownRedis()))
afterAll(() => redis.stop())

const run = (name: string) =>
  runPattern(name, redis, { orders: 30, kills: 3, failovers: 3, random: printedRandom(`pattern ${name}`).next })
const whatOf = ({ doubled, lost }: Leak) => ({ doubles: doubled > 0, loses: lost > 0 })
const NONE = { doubles: false, loses: false }
const DOUBLES = { doubles: true, loses: false }
const LOSES = { doubles: false, loses: true }

/** What docs/patterns.md says of each: the gap is where it says, and nowhere else. */
test.each([
  ['query status first', { concurrency: DOUBLES, crash: DOUBLES, failover: DOUBLES }],
  ['Redis SETNX token', { concurrency: NONE, crash: LOSES, failover: DOUBLES }],
  ['dedupe table', { concurrency: NONE, crash: LOSES, failover: NONE }],
  ['unique (out_trade_no, event_type)', { concurrency: NONE, crash: DOUBLES, failover: NONE }],
  ['version column', { concurrency: NONE, crash: LOSES, failover: NONE }],
] as const)('%s leaks where it is said to', { timeout: 300_000 }, async (name, expected) => {
  const { concurrency, crash, failover } = await run(name)
  expect({ concurrency: whatOf(concurrency), crash: whatOf(crash), failover: whatOf(failover) }).toEqual(expected)
})

test('a Redis lock holds while nobody dies, and no order is lost', { timeout: 300_000 }, async () => {
  const { concurrency, crash, failover } = await run('Redis lock')
  expect(whatOf(concurrency)).toEqual(NONE)
  expect(crash.doubled + failover.doubled).toBeGreaterThan(0)
  expect(crash.lost + failover.lost).toBe(0)
})

test('ours ships each paid order once, whatever is killed', { timeout: 300_000 }, async () => {
  const { concurrency, crash, failover } = await run(OURS)
  expect([concurrency, crash, failover].map(({ doubled, lost }) => ({ doubled, lost }))).toEqual(
    [0, 0, 0].map(() => ({ doubled: 0, lost: 0 })),
  )
  expect(Math.min(concurrency.orders, crash.orders, failover.orders)).toBeGreaterThan(0)
})

test('every form is played', () => {
  expect(Object.keys(FORMS)).toHaveLength(6)
})

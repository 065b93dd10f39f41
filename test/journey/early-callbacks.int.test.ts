import { expect, test } from 'vitest'
import { counter } from '../../bench/processes.ts'
import { readEvents, type SeenEvent } from '../helpers/check-exactly-once.ts'
import { printedRandom } from '../helpers/seed.ts'
import { until } from '../helpers/until.ts'
import { startWholeSystem, type WholeSystem } from '../helpers/whole-system.ts'

const ORDERS = 20_000
const PER_REQUEST = 500
const ONCE = ['ship', 'deduct', 'grant']
const PARTIAL_FEN = 40
/** What workers hear of an order: a part that goes back is for each of the three. One that is refunded whole before it
 * was ever paid here never happened to them. */
const HEARD = { paid: ONCE, partly: [...ONCE, 'refund', 'refund', 'refund'], wholly: [] } as const
type Story = keyof typeof HEARD

test(
  'twenty thousand callbacks before their orders: each is applied once, while more of them come and lanes change hands',
  { timeout: 300_000 },
  async () => {
    const random = printedRandom('early callbacks')
    const system = await startWholeSystem({ partitions: 6, processors: 2 })
    const { merchant } = system
    try {
      const names = Array.from({ length: ORDERS }, (_, i) => `E${String(i).padStart(6, '0')}`)
      // Of every hundred, three are refunded in part and three as a whole; of each three, one hears of its refund first.
      const storyOf = (index: number): Story => (index % 100 < 3 ? 'partly' : index % 100 < 6 ? 'wholly' : 'paid')
      const payments = names.map((name) => merchant.wechatpay(name))
      const refunds = names.flatMap((name, i) => {
        if (storyOf(i) === 'paid') return []
        return merchant.refund(name, storyOf(i) === 'partly' ? PARTIAL_FEN : 100)
      })
      const isRefundFirst = (index: number) => index % 100 < 6 && index % 3 === 0
      const early = random.shuffle([...payments.filter((_, i) => !isRefundFirst(i)), ...refunds])
      const later = [...payments, ...refunds]
      const again = random.shuffle([
        ...later,
        ...later.filter(() => random.chance(0.3)),
        ...later.filter(() => random.chance(0.1)),
      ])

      const [sent, held] = await measured(async () => {
        const result = await system.post(early)
        await until('all are held', async () => (await factsOf(system, 'held')) === early.length, 60_000)
        return result
      })
      console.log(
        `${early.length} early callbacks: answered at ${rate(early.length, sent.seconds)}, held at ${rate(early.length, held)}`,
      )

      let created = 0
      const half = Promise.withResolvers<undefined>()
      const create = async () => {
        for (let from = 0; from < ORDERS; from += PER_REQUEST) {
          await createAll(system, names.slice(from, from + PER_REQUEST))
          if ((created += PER_REQUEST) === ORDERS / 2) half.resolve(undefined)
        }
      }
      const leave = async () => {
        await half.promise
        const leaving = system.processors[1]
        expect(leaving && (await counter(leaving.metricsPort, 'paidonce_records_total'))).toBeGreaterThan(0)
        await leaving?.stop()
      }
      const [[, [, creating]], all] = await measured(async () => {
        const done = await Promise.all([system.post(again), measured(create), leave()])
        const count = early.length + again.length
        await until(
          'all are applied',
          async () => (await deliveriesOf(system)) === count && (await factsOf(system, 'held')) === 0,
          120_000,
        )
        return done
      })
      console.log(
        `created at ${rate(ORDERS, creating)} beside ${again.length} redeliveries; all applied at ${rate(ORDERS + again.length, all)}`,
      )

      const facts = payments.length + refunds.length
      expect(await countsOf(system)).toEqual({
        // A payment that was given back before it came: the order is refunded at once, and its refund adds nothing.
        ...{ held: 0, applied: facts - ORDERS * 0.03, noted: ORDERS * 0.03 },
        ...{ duplicates: early.length + again.length - facts, anomalies: 0, letters: 0, commands: 0 },
        ...{ waiting: 0, orders: ORDERS, awaited: 0, paid: ORDERS * 0.97, refunded: ORDERS * 0.03 },
      })
      const heard = names.flatMap((_, i) => HEARD[storyOf(i)])
      const events = await readEvents(system.topics, { atLeast: heard.length })
      expect(strangeIn(names, storyOf, events)).toEqual([])
      expect(events).toHaveLength(heard.length)
    } finally {
      await system.stop()
    }
  },
)

const rate = (count: number, seconds: number) => `${Math.round(count / seconds)}/s`
async function measured<T>(work: () => Promise<T>): Promise<[T, seconds: number]> {
  const startedMs = performance.now()
  return [await work(), (performance.now() - startedMs) / 1_000]
}
const factsOf = async ({ database }: WholeSystem, outcome: string) =>
  (await database.pool.query('select from facts where outcome = $1', [outcome])).rowCount
const deliveriesOf = async ({ database }: WholeSystem) =>
  (await database.pool.query<{ n: number }>('select count(*)::int as n from deliveries')).rows[0]?.n

async function countsOf({ database }: WholeSystem) {
  const facts = (outcome: string) => `(select count(*)::int from facts where outcome = '${outcome}') as ${outcome}`
  const orders = (status: string) => `(select count(*)::int from orders where status = '${status}') as ${status}`
  const { rows } = await database.pool.query<Record<string, number>>(
    `select ${['held', 'applied', 'noted'].map(facts).join()}, ${['awaited', 'paid', 'refunded'].map(orders).join()},
      (select count(*)::int from deliveries where outcome = 'duplicate') as duplicates,
      (select count(*)::int from anomalies) as anomalies, (select count(*)::int from dead_letters) as letters,
      (select count(*)::int from commands where status = 'pending') as commands,
      (select count(*)::int from orders) as orders, (select sum(held_count)::int from orders) as waiting`,
  )
  return rows[0]
}

/** As a merchant does: what is busy is sent again. */
async function createAll(
  { call, merchant }: Pick<WholeSystem, 'call' | 'merchant'>,
  names: readonly string[],
): Promise<void> {
  const orders = names.map((out_trade_no) => ({
    ...{
      merchant: merchant.name,
      out_trade_no,
      amount_minor: 100,
      currency: 'CNY',
      expires_at: '2036-11-11T12:30:00Z',
    },
    payload: `{"sku":"${out_trade_no}"}`,
  }))
  const { status, body } = await call('POST', '/v1/orders', { orders })
  expect(status).toBe(200)
  const results = body['results'] as { status: number; problem?: { type: string } }[]
  const busy = names.filter((_, i) => results[i]?.status === 503)
  expect(results.filter(({ status }) => ![200, 201, 503].includes(status))).toEqual([])
  if (busy.length > 0) await createAll({ call, merchant }, busy)
}

/** Orders of which workers hear anything else, anything twice, or in another order than it happened. */
function strangeIn(
  names: readonly string[],
  storyOf: (index: number) => Story,
  events: readonly SeenEvent[],
): string[] {
  const byOrder = Map.groupBy(events, ({ key }) => key)
  const strange = names.filter((name, index) => {
    const seen = (byOrder.get(name) ?? []).toSorted((a, b) => a.laneSeq - b.laneSeq)
    byOrder.delete(name)
    const isExact = String(seen.map(({ kind }) => kind)) === String(HEARD[storyOf(index)])
    const hasNoGap = seen.every(({ sequence }, at) => sequence === at + 1)
    return (
      !isExact ||
      !hasNoGap ||
      new Set(seen.map(({ ceId }) => ceId)).size !== seen.length ||
      seen.some(({ payload }) => payload !== `{"sku":"${name}"}`)
    )
  })
  return [...strange, ...[...byOrder.keys()].map(String)]
}

import { expect, test } from 'vitest'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { listBrakes } from '../../src/store/list-brakes.ts'
import { releaseBrake } from '../../src/store/release-brake.ts'
import { setBrake } from '../../src/store/set-brake.ts'
import { checkExactlyOnce, nothingWrong, readEvents, type SeenEvent } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { metricOf, probe, startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

const named = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`)
const actor = { actor: 'ann', reason: 'stock is wrong' }
const set = async ({ database, topics }: Installation, eventType: 'ship' | 'grant') => {
  const scope = { merchant: null, outTradeNo: null, eventType }
  const brake = await setBrake(database.pool, topics.appId, topics.name(INPUT_TOPIC), { ...scope, ...actor })
  if (brake.kind === 'too_many') throw new Error('too many')
  return brake
}
const release = ({ database, topics }: Installation, id: number) =>
  releaseBrake(database.pool, topics.appId, topics.name(INPUT_TOPIC), { id, merchant: null, ...actor })
const applied = ({ database }: Installation, orders: readonly string[]) =>
  until('the callbacks are applied', async () => {
    const { rows } = await database.pool.query(
      `select from orders where out_trade_no = any($1) and status in ('paid', 'refunded')`,
      [orders],
    )
    return rows.length === orders.length
  })
const sequences = (events: readonly SeenEvent[]) => {
  const of = new Map<string, number[]>()
  for (const { key, sequence } of [...events].sort((a, b) => a.laneSeq - b.laneSeq)) {
    const list = of.get(key ?? '') ?? []
    of.set(key ?? '', list)
    list.push(sequence)
  }
  return [...of.values()].map((list) => list.join())
}

test('set under traffic, nothing that matches goes out beyond what was named; a restart; released, all once, in order', async () => {
  const installation = await createInstallation({ partitions: 3 })
  const [before, during, after] = [named('B', 60), named('D', 120), named('A', 40)]
  let processor = await startTestProcessor(installation)
  try {
    await untilSettled([processor], 3)
    await installation.createOrders([...before, ...during, ...after])
    // Callbacks flow while it is set.
    const traffic = (async () => {
      for (let n = 0; n < before.length; n += 10)
        await installation.send(before.slice(n, n + 10).map((o) => payment(o)))
    })()
    const ship = await set(installation, 'ship')
    expect(ship).toMatchObject({ kind: 'set', untold: [] })
    await traffic
    await installation.send(during.flatMap((order) => [payment(order), payment(order)]))
    const grant = await set(installation, 'grant')
    await applied(installation, [...before, ...during])
    await processor.stop()
    processor = await startTestProcessor(installation)
    await untilSettled([processor], 3)

    const stops = new Map(ship.stops.map(({ lane, stopSeq }) => [lane, stopSeq]))
    const early = await readEvents(installation.topics)
    const beyond = ({ kind, partition, laneSeq }: SeenEvent) =>
      kind === 'ship' && laneSeq >= (stops.get(partition) ?? 0)
    expect(early.filter(beyond)).toEqual([])
    expect(early.filter(({ key }) => key?.startsWith('D'))).toEqual([])
    const shown = await until(
      'the metrics show what waits',
      async () => {
        const { text } = await probe(processor, '/metrics')
        return metricOf(text, 'paidonce_waiting_events') > 0 && text
      },
      20_000,
    )
    expect(metricOf(shown, 'paidonce_brakes', 'state="set"')).toBe(2)
    expect(metricOf(shown, 'paidonce_waiting_events')).toBe(3 * (before.length + during.length) - early.length)

    // Released while a new batch arrives for orders that wait, and for others.
    await Promise.all([
      release(installation, ship.id),
      installation.send([...after, ...during].map((order) => payment(order))),
    ])
    await applied(installation, after)
    await release(installation, grant.id)
    const all = [...before, ...during, ...after]
    const events = await readEvents(installation.topics, { atLeast: 3 * all.length })
    expect(checkExactlyOnce(all, events, { inOrder: false })).toEqual(nothingWrong(all))
    expect(new Set(sequences(events))).toEqual(new Set(['1,2,3']))
    await until('nothing waits and the brakes are gone', async () => {
      const { rows } = await installation.database.pool.query('select from orders where waiting_count <> 0')
      return rows.length === 0 && (await listBrakes(installation.database.pool, null)).length === 0
    })
  } finally {
    await processor.stop()
    await installation.drop()
  }
}, 90_000)

test('a type is kept back and others flow at once', async () => {
  const installation = await createInstallation({ partitions: 2 })
  const processor = await startTestProcessor(installation, { WAKE_INTERVAL_MS: '60000' })
  const orders = named('F', 20)
  try {
    await untilSettled([processor], 2)
    await installation.createOrders(orders)
    const { id } = await set(installation, 'grant') // each order's last event
    await installation.send(orders.map((order) => payment(order)))
    const early = await readEvents(installation.topics, { atLeast: 2 * orders.length })
    expect(new Set(early.map(({ kind }) => kind))).toEqual(new Set(['ship', 'deduct']))
    const startedMs = performance.now()
    await release(installation, id) // NOTIFY, not the timer
    await until('all are numbered', () => processor.lanes().reduce((sum, { ledger = 0 }) => sum + ledger, 0) === 60)
    expect(performance.now() - startedMs).toBeLessThan(3_000)
    const events = await readEvents(installation.topics, { atLeast: 3 * orders.length })
    expect(checkExactlyOnce(orders, events, { inOrder: false })).toEqual(nothingWrong(orders))
  } finally {
    await processor.stop()
    await installation.drop()
  }
}, 60_000)

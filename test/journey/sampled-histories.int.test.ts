import { afterAll, beforeAll, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi, type Api } from '../../src/api/start.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { createLog } from '../../src/runtime/log.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { callWith, type Call } from '../api/start-api.ts'
import { callbackOf, createInstallation, MERCHANT, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { printedRandom, randomOf } from '../helpers/seed.ts'
import { until } from '../helpers/until.ts'
import { arrive, cameTo } from '../orders/history.ts'
import { brokenLaws } from '../orders/laws.ts'
import { netEffect } from '../orders/net-effect.ts'
import { foldLike } from './fold.ts'
import { again, playHistory, type PlayedHistory } from './play-history.ts'
import { readEnds, type Seen } from './read-ends.ts'
import { readTopics, type Heard } from './read-topics.ts'
import { sampleHistories, type RealHistory } from './real-history.ts'
import { watchOrders } from './watch-orders.ts'

const HISTORIES = 200
const LANES = 4

let it: Installation
let processors: RunningProcessor[]
let api: Api
let call: Call
beforeAll(async () => {
  it = await createInstallation({ partitions: LANES })
  // Batches of any size: one is cut by number, one by what has come.
  const env = { EXPIRY_GRACE_SEC: '1' }
  processors = await Promise.all([
    startTestProcessor(it, { ...env, BATCH_RECORDS_MAX: '7' }),
    startTestProcessor(it, env),
  ])
  await untilSettled(processors, LANES)
  api = await startApi(readApiConfig(it.env({ LOG_LEVEL: 'silent' })), { log: createLog('api', 'silent') })
  const { token, hash } = mintToken()
  const of = { merchant: MERCHANT, role: 'merchant', expiresAtMs: null } as const
  await insertApiToken(it.database.pool, { name: 'shop', tokenHash: hash, ...of })
  call = callWith(`http://127.0.0.1:${api.port}`, token)
  await until('the api is ready', async () => (await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)).ok)
})
afterAll(async () => {
  await api.stop()
  await Promise.all(processors.map((processor) => processor.stop()))
  await it.drop()
})

test('200 sampled histories, played through the running system at once, come to what the pure decision says', async () => {
  const random = printedRandom('sampled histories')
  const histories = sampleHistories(HISTORIES, random, Date.now())
  const world = { installation: it, call, watch: watchOrders(it.database.pool) }
  const played = await Promise.all(
    histories.map((history, index) => playHistory(world, history, randomOf(random.seed + index))),
  )
  await redeliverAll(histories, played, random.shuffle)
  await untilIdle(played.reduce((sum, orders) => sum + sentIn(orders), 0))

  const heard = await readTopics(it.topics)
  expect(misnumbered(heard)).toEqual([])
  const seen = await readEnds(it.database.pool, heard)
  const counts = { orders: seen.size, events: heard.length, compared: 0, exempt: 0 }
  for (const [index, history] of histories.entries()) {
    const own = seenOf(history, seen)
    const folded = foldLike(history, played[index] ?? new Map<number, never>(), own)
    expect(brokenLaws(history.of, folded.shop)).toEqual([])
    for (const [orderId, { heard: events }] of own)
      expect(netEffect(events)).toEqual(netEffect(folded.shop.events.filter((event) => event.orderId === orderId)))
    const otherwise = arrive(history.of, history.of.parts)
    if (folded.touched.size + otherwise.touched.size > 0) counts.exempt += 1
    else {
      counts.compared += 1
      expect(cameTo(history.of, folded.shop)).toEqual(cameTo(history.of, otherwise.shop))
    }
  }
  console.log(`sampled histories: ${JSON.stringify(counts)}`)
  expect(seen.size).toBe(histories.reduce((sum, { of }) => sum + of.orderIds.length, 0))
  expect(counts.compared).toBeGreaterThan(HISTORIES / 4)
}, 120_000)

/** The provider tells everything again, in any order. */
async function redeliverAll(
  histories: readonly RealHistory[],
  played: readonly PlayedHistory[],
  shuffle: <T>(all: readonly T[]) => T[],
) {
  const copies = histories.flatMap(({ of }, index) =>
    [...(played[index] ?? [])].flatMap(([orderId, one]) =>
      one.sent.map((fact) => ({ one, fact, name: of.real.nameOf(orderId) })),
    ),
  )
  const mixed = shuffle(copies).map((copy) => again(copy))
  for (const { one, fact } of mixed) one.sent.push(fact)
  await it.send(mixed.map(({ name, fact }) => callbackOf(name, fact)))
}

/** Every record is applied, every event is out, and nothing is left that a lane could do by itself. */
async function untilIdle(sent: number) {
  await until(
    'all lanes are done',
    async () => {
      const { rows } = await it.database.pool.query<{ lane: number; next: number; applied: number }>(
        `select lane, next_seq::int as next, applied_offset::int as applied from lanes`,
      )
      const views = processors.flatMap((processor) => processor.lanes())
      const work = await it.database.pool.query(
        `select from commands where status = 'pending' union all select from timers where kind = 'expiry' and due_at < now()`,
      )
      const delivered = await it.database.pool.query<{ n: number }>('select count(*)::int as n from deliveries')
      return (
        work.rowCount === 0 &&
        (delivered.rows[0]?.n ?? 0) >= sent &&
        views.length === LANES &&
        rows.every(({ lane, next, applied }) =>
          views.some((view) => view.lane === lane && view.ledger === next && view.next === applied && view.lag === 0),
        )
      )
    },
    45_000,
  )
}

const sentIn = (orders: PlayedHistory) => [...orders.values()].reduce((sum, { sent }) => sum + sent.length, 0)

/** No id twice; in a partition the lane's numbers rise; an order's sequence is 1, 2, 3… over all topics. */
function misnumbered(heard: readonly Heard[]): string[] {
  const wrong: string[] = []
  const ids = new Set<string>()
  for (const { eventId, ceId, kind, key, outTradeNo, partition, lane } of heard) {
    if (ids.has(eventId)) wrong.push(`${kind} ${outTradeNo} comes twice`)
    ids.add(eventId)
    if (ceId !== eventId || key !== outTradeNo || lane !== partition)
      wrong.push(`${kind} ${outTradeNo} is misaddressed`)
  }
  for (const [place, all] of Map.groupBy(heard, ({ topic, partition }) => `${topic}/${partition}`))
    all
      .toSorted((a, b) => a.offset - b.offset)
      .reduce((last, { laneSeq }) => {
        if (laneSeq <= last) wrong.push(`${place}: ${laneSeq} after ${last}`)
        return laneSeq
      }, -1)
  for (const [name, all] of Map.groupBy(heard, ({ outTradeNo }) => outTradeNo)) {
    const sequences = all.flatMap(({ sequence }) => sequence ?? []).sort((a, b) => a - b)
    if (sequences.some((sequence, index) => sequence !== index + 1)) wrong.push(`${name}: ${sequences.join(', ')}`)
  }
  return wrong
}

const seenOf = ({ of }: RealHistory, seen: ReadonlyMap<string, Seen>) =>
  new Map(
    of.orderIds.map((orderId): [number, Seen] => {
      const one = seen.get(of.real.nameOf(orderId))
      if (one === undefined) throw new Error(`${of.real.nameOf(orderId)} is nowhere`)
      return [orderId, one]
    }),
  )

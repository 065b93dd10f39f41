import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { expectedOf } from '../../src/simulator/expected.ts'
import { readLog, type DeliveryLine } from '../../src/simulator/log.ts'
import { planOf, type PlanOptions } from '../../src/simulator/plan.ts'
import { runSimulation, type SimulationOptions } from '../../src/simulator/start.ts'
import { PAYMENT_PROVIDERS, STORY_SHARES, type Story, type StoryShares } from '../../src/simulator/stories.ts'
import { createFakeSystem, type FakeSystem } from './fake-system.ts'

let system: FakeSystem
beforeAll(async () => {
  system = await createFakeSystem(['shop', 'books'], { partners: ['books'] })
})
beforeEach(() => system.reset())
afterAll(() => system.close())

const NONE = Object.fromEntries(Object.keys(STORY_SHARES).map((name) => [name, 0])) as unknown as StoryShares
const only = (story: Story) => ({ stories: story === 'paid' ? NONE : { ...NONE, [story]: 1 } })
const plan = (options: Partial<PlanOptions> = {}) =>
  planOf({
    ...{ seed: 7, runId: 'T', merchants: ['shop', 'books'], orders: 60 },
    ...{ deliveriesPerOrder: 5, spreadMs: 100, againMs: 100, reportShare: 0.3, slowShare: 0, cutOffShare: 0 },
    ...options,
  })
const run = async (orders = plan(), options: Partial<SimulationOptions> = {}) => {
  const logFile = join(system.directory, 'run.jsonl')
  const { keys, gateways, api } = system
  // Patient: on a busy machine an answer may take longer than a provider waits, and would be asked for again.
  const how = { timeScale: 0.001, answerMsMax: 60_000, ...options }
  const tally = await runSimulation({ orders, keys, gateways, api, logFile, ...how })
  const lines = readLog(logFile)
  return { tally, lines, expected: expectedOf(lines), orders }
}
/** What is for people only is not stated. */
const withoutDetail = (fact: object) => Object.fromEntries(Object.entries(fact).filter(([name]) => name !== 'detail'))
const deliveriesIn = (lines: ReturnType<typeof readLog>) =>
  lines.filter((line): line is DeliveryLine => line.line === 'delivery')

/** What the fake gateways and api know: created, and paid with the order's own amount. */
const paidInSystem = () => {
  const paid = system.accepted.filter(({ merchant, message: { outTradeNo, facts } }) => {
    const order = system.created.get(outTradeNo ?? '')
    const [fact] = facts
    return (
      order?.merchant === merchant &&
      !system.closed.has(`${merchant}/${outTradeNo}`) &&
      fact?.eventType === 'payment_succeeded' &&
      fact.amountMinor === order.amount_minor &&
      fact.currency === order.currency
    )
  })
  return [...new Set(paid.map(({ merchant, message }) => `${merchant}/${message.outTradeNo}`))].sort()
}
const names = (refs: readonly { merchant: string; outTradeNo: string }[]) =>
  refs.map(({ merchant, outTradeNo }) => `${merchant}/${outTradeNo}`).sort()

// A run that is cut off by the clock goes on, and is heard by the gateways of the next test.
describe('a simulation', { timeout: 120_000 }, () => {
  test('sends all that was planned, and its log alone says who paid rightly', async () => {
    const stories = {
      ...{ created_late: 0.1, unknown: 0.05, wrong_amount: 0.05, second_payment: 0.05, forged: 0.05, stale: 0.05 },
      ...{
        stranger: 0.05,
        probed: 0.05,
        refunded_partly: 0.1,
        refunded_fully: 0,
        refund_first: 0,
        refund_failed: 0.05,
      },
      ...{ closed: 0.05, late_success: 0.05, payment_failed: 0.05, disputed: 0.05, combined: 0.1 },
    }
    const { tally, lines, expected, orders } = await run(plan({ orders: 200, stories }))
    const planned = orders.flatMap(({ callbacks }) => callbacks.flatMap(({ bursts }) => bursts))
    expect(tally.deliveries + tally.notices).toBe(planned.reduce((sum, { copies }) => sum + copies, 0))
    expect(deliveriesIn(lines)).toHaveLength(tally.deliveries)
    expect(names(expected.paid)).toEqual(paidInSystem())
    expect(expected.uncertain).toEqual([])
    expect(expected.wronglyAccepted).toEqual([])
    expect(expected.genuineRefused).toEqual([])
    const never: readonly Story[] = ['unknown', 'wrong_amount', 'forged', 'stale', 'stranger', 'closed', 'late_success']
    const unpaid = orders.filter(({ story }) => never.includes(story))
    expect(names(expected.unpaid)).toEqual(names(unpaid))
    expect(expected.paid.length + unpaid.length).toBe(orders.length)
    expect(new Set(system.refused.map(({ kind }) => kind))).toEqual(
      new Set(['bad_signature', 'stale', 'signature_probe', 'wrong_recipient']),
    )
    expect(tally.refusedByDefect.none).toBe(0)
    expect(tally.heard.success + tally.heard.failure).toBe(tally.deliveries + tally.notices + tally.reports)
    expect(tally.closes).toBe(orders.filter(({ closeAtMs }) => closeAtMs !== null).length)
    expect(tally.answerMs.p99).toBeGreaterThanOrEqual(tally.answerMs.p50)
  })

  test('sends copies at the same instant, on sockets of their own, to both gateways', async () => {
    await run(
      plan({
        orders: 1,
        deliveriesPerOrder: 10,
        spreadMs: 1,
        ...only('paid'),
        providers: { wechatpay: 1 },
        reportShare: 0,
      }),
    )
    const bodies = Map.groupBy(system.accepted, ({ body }) => body)
    const burst = [...bodies.values()].sort((a, b) => b.length - a.length)[0] ?? []
    expect(burst).toHaveLength(6)
    expect(new Set(burst.map(({ socket }) => socket)).size).toBe(6)
    expect(new Set(burst.map(({ gateway }) => gateway)).size).toBe(2)
    // What comes again is signed again.
    expect(bodies.size).toBeGreaterThan(1)
  })

  test('is signed by certificate and by public key, by every provider and by workers', async () => {
    const { lines } = await run(plan({ orders: 150 }))
    const providers = new Set(lines.flatMap((line) => ('provider' in line ? [line.provider] : [])))
    expect(providers).toEqual(new Set([...PAYMENT_PROVIDERS, 'worker']))
    const serials = new Set(system.accepted.flatMap(({ serial }) => serial ?? []))
    const platforms = system.keys.flatMap(({ wechatpay }) => wechatpay.platforms.map(({ value }) => value.serial))
    expect(serials).toEqual(new Set(platforms))
    const reports = system.accepted.filter(({ provider }) => provider === 'worker')
    expect(reports.length).toBeGreaterThan(5)
    const kinds = ['shipment_completed', 'fulfillment_failed', 'goods_returned']
    for (const { message } of reports) expect(kinds).toContain(message.facts[0]?.eventType)
  })

  test('states in its log what the gateways read in its callbacks', async () => {
    const { lines } = await run(plan({ orders: 200 }))
    const stated = lines.flatMap((line) => ('facts' in line && line.heard === 'success' ? (line.facts ?? []) : []))
    const read = system.accepted.flatMap(({ message: { outTradeNo, facts } }) =>
      facts.map((fact) => ({ outTradeNo, ...withoutDetail(fact) })),
    )
    const sorted = (facts: readonly object[]) => facts.map((fact) => JSON.stringify(Object.entries(fact).sort())).sort()
    expect(sorted(stated)).toEqual(sorted(read))
  })

  test('sends again after a failure, until it hears success, and calls nothing paid before', async () => {
    system.interfere = (n) => (n <= 20 ? { status: 503, contentType: 'text/plain', body: 'fail' } : undefined)
    const { tally, expected, orders } = await run(plan({ orders: 10, ...only('paid'), reportShare: 0 }))
    expect(tally.heard.failure).toBe(20)
    expect(tally.refused).toEqual({ 503: 20 })
    expect(tally.deliveries).toBeGreaterThan(10 * 5)
    expect(names(expected.paid)).toEqual(names(orders))
  })

  test('has nothing reported as shipped whose payment nobody accepted', async () => {
    system.interfere = () => ({ status: 503, contentType: 'text/plain', body: 'fail' })
    const { tally } = await run(plan({ orders: 5, deliveriesPerOrder: 1, reportShare: 1, ...only('paid') }), {
      timeScale: 0,
    })
    expect(tally.reports).toBe(0)
    expect(tally.deliveries).toBeGreaterThan(5 * 7)
  })

  test('gives up in the end, as providers do; the order is uncertain then', async () => {
    system.interfere = () => ({ status: 200, contentType: 'application/json', body: '{"code":"FAIL"}' })
    const { tally, expected } = await run(
      plan({ orders: 1, deliveriesPerOrder: 1, ...only('paid'), providers: { alipay: 1 } }),
      {
        timeScale: 0,
      },
    )
    // Alipay delivers eight times.
    expect(tally.deliveries).toBe(8)
    expect(tally.heard.wrong_form).toBe(8)
    expect(expected).toMatchObject({ paid: [], uncertain: [{}], unpaid: [] })
  })

  test('a connection that ends without an answer is no success', async () => {
    system.interfere = (n) => (n === 1 ? 'hang' : undefined)
    const orders = plan({ orders: 1, deliveriesPerOrder: 1, ...only('paid') })
    const { tally, expected } = await run(orders, { answerMsMax: 200 })
    expect(tally.refused).toEqual({ 'no answer': 1 })
    expect(expected.paid).toHaveLength(1)
  })

  test('a sender that vanishes in the middle comes again, and a slow one is patient', async () => {
    const orders = plan({ orders: 20, ...only('paid'), reportShare: 0, cutOffShare: 1, slowShare: 1 })
    const { tally, expected, lines } = await run(orders, { timeScale: 0.000_1 })
    expect(system.cutOff).toBe(20)
    expect(tally.refusedByDefect).toMatchObject({ none: 0, cut_off: 20 })
    expect(lines.filter((line) => 'isSlow' in line && line.heard === 'success')).toHaveLength(20)
    expect(tally.deliveries).toBe(20 * 6)
    expect(expected.paid).toHaveLength(20)
  })

  test('finds a gateway that takes what it must refuse', async () => {
    const success = { status: 200, contentType: 'application/json', body: '{"code":"SUCCESS","message":"成功"}' }
    system.interfere = () => success
    const { expected } = await run(plan({ orders: 3, ...only('stale') }))
    expect(expected.wronglyAccepted).toHaveLength(15)
    expect(expected.paid).toEqual([])
  })

  test('asks the api again after 5xx, and stops when it is refused', async () => {
    system.interfereWithApi = (n) => (n <= 2 ? 503 : undefined)
    const { expected, orders } = await run(plan({ orders: 5, ...only('paid') }))
    expect(expected.paid).toHaveLength(orders.length)
    system.interfereWithApi = () => 403
    await expect(run(plan({ orders: 5, ...only('created_late'), runId: 'U' }))).rejects.toThrow(
      'the api refuses to create orders (403)',
    )
  })

  test('can be stopped: what was sent is in the log, and nothing comes after it', async () => {
    const stop = new AbortController()
    // One in 300 ms, so that few are due together wherever the machine pauses.
    const orders = plan({ orders: 100, spreadMs: 200_000, ...only('paid') })
    const { tally, lines } = await run(orders, {
      signal: stop.signal,
      onProgress: ({ deliveries }) => deliveries > 0 && stop.abort(),
    })
    expect(tally.deliveries).toBe(deliveriesIn(lines).length)
    expect(tally.deliveries).toBeLessThan(20)
  })

  test.each([
    ['waits to ask again', () => 503],
    ['waits for an answer', () => 'hang' as const],
  ])('can be stopped while the api is away and it %s', async (_what, answer) => {
    const stop = new AbortController()
    let asked = 0
    system.interfereWithApi = () => {
      asked++
      // Within the 400 ms after which it asks again.
      setTimeout(() => stop.abort(), 100)
      return answer()
    }
    const startedMs = performance.now()
    const { tally, lines, orders } = await run(plan({ orders: 700, ...only('paid') }), { signal: stop.signal })
    expect(performance.now() - startedMs).toBeLessThan(3_000)
    expect([asked, tally.deliveries]).toEqual([1, 0])
    expect(lines.map((line) => line.line === 'order' && line.heard)).toEqual(orders.slice(0, 500).map(() => 'unknown'))
  })

  test('needs keys for every merchant in the plan', () =>
    expect(run(plan({ merchants: ['nobody'] }))).rejects.toThrow('merchant nobody'))
})

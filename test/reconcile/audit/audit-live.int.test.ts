import { expect, test } from 'vitest'
import { readAuditConfig } from '../../../src/reconcile/audit/config.ts'
import { runAudit } from '../../../src/reconcile/audit/start.ts'
import type { RunningProcessor } from '../../../src/processor/start.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { groupTool } from '../../helpers/groups.ts'
import { createInstallation, payment } from '../../helpers/installation.ts'
import { rowsIn } from '../../helpers/maintained.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'
import { seedFaults } from './seed-faults.ts'

const LANES = 3
const ORDERS = Array.from({ length: 60 }, (_, n) => `o-${n}`)
const ROUND = 40

test('each kind of fault, while lanes go on: exactly those are named, and to the same digest each time', async () => {
  const it = await createInstallation({ partitions: LANES })
  const { pool } = it.database
  const work = async (then: (processor: RunningProcessor) => Promise<void>) => {
    const processor = await startTestProcessor(it)
    try {
      await untilSettled([processor], LANES)
      await then(processor)
    } finally {
      await processor.stop()
    }
  }
  let paid = 0
  const pay = async (orders: readonly string[]) => {
    await it.createOrders(orders)
    await it.send(orders.map((order) => payment(order)))
    paid += orders.length
  }
  const untilOut = ({ lanes }: RunningProcessor) =>
    until('all is out', () => lanes().reduce((sum, { ledger = 0 }) => sum + ledger, 0) === 3 * paid, 40_000)
  const audit = async (untilMs: number) => {
    const request = { actor: 'test', window: { sinceMs: beganMs, untilMs }, onProgress: () => undefined }
    const end = await runAudit(readAuditConfig(it.env()), pool, request, createLog('audit', 'silent'))
    if (end.kind !== 'done') throw new Error(end.kind)
    const named = end.report.findings.map(({ finding, eventId, outTradeNo, topic }) => [
      ...[finding, eventId, outTradeNo, topic],
    ])
    return { ...end.report, named: named.sort() }
  }
  const beganMs = Date.now() - 86_400_000
  try {
    await work(async (processor) => {
      await pay(ORDERS)
      await untilOut(processor)
    })
    const seeded = await seedFaults(it.topics, {
      ...{ missing: 'o-30', twice: 'o-31', dearer: 'o-32', forged: 'o-33', late: 'o-34' },
    })
    // The topics were made anew for that, which halts a lane; where a tool has set the group, nothing tells it.
    const tool = groupTool(it)
    for (const [lane, { offset }] of await tool.offsets('input')) await tool.set('input', lane, offset)
    const beforeLiveMs = Date.now()
    await work(async (processor) => {
      let isOver = false
      const live = (async () => {
        // As fast as lanes take it: what waits longer only takes the machine from the audits.
        for (let round = 0; !isOver; round++) {
          await pay(Array.from({ length: ROUND }, (_, n) => `live-${round}-${n}`))
          await untilOut(processor)
        }
      })()
      try {
        const digests = new Set<string>()
        let [before, audits] = [await rowsIn(pool, 'events'), 0]
        while (audits < 2) {
          const past = await audit(beforeLiveMs)
          digests.add(past.digest)
          const now = await audit(Date.now() + 3_600_000)
          expect(past).toMatchObject({ named: seeded, undecided: [], events: 3 * ORDERS.length, orders: ORDERS.length })
          expect(now).toMatchObject({ named: seeded, result: 'findings' })
          // What was numbered while it looked is the next run's.
          expect(now.undecided.filter(({ reason }) => reason !== 'not_emitted')).toEqual([])
          expect(now.orders).toBeGreaterThan(ORDERS.length)
          const events = await until('lanes have gone on', async () => {
            const rows = await rowsIn(pool, 'events')
            return rows > before && rows
          })
          before = events
          audits += 1
        }
        expect(digests.size).toBe(1)
        isOver = true
        await live
        await untilOut(processor)
        const [first, second] = [await audit(beforeLiveMs), await audit(beforeLiveMs)]
        expect([first.digest, second.digest]).toEqual([...digests, ...digests])
      } finally {
        isOver = true
        await live.catch(() => undefined)
      }
    })
    const untilMs = Date.now() + 1
    const [first, second] = [await audit(untilMs), await audit(untilMs)]
    expect(first).toMatchObject({ named: seeded, undecided: [], events: 3 * paid, orders: paid })
    expect(second.digest).toBe(first.digest)
  } finally {
    await it.drop()
  }
}, 240_000)

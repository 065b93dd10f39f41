import { expect, test } from 'vitest'
import { CRASH_POINTS } from '../../../src/processor/crash-points.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { releaseBrake } from '../../../src/store/release-brake.ts'
import { setBrake } from '../../../src/store/set-brake.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { startProcessorChild } from '../../helpers/child.ts'
import { startCrashing } from '../../helpers/crash.ts'
import { createInstallation, payment } from '../../helpers/installation.ts'
import { until } from '../../helpers/until.ts'

const ENV = { SESSION_TIMEOUT_MS: '1000' }
const actor = { actor: 'ann', reason: 'r' }

/**
 * One installation, one lane, one processor after another: each dies at another step, and what it left is for the next.
 */
test('kill -9 of the processor at each step of setting and releasing: all once, in order, nothing while it is set', async () => {
  const installation = await createInstallation({ partitions: 1 })
  const { pool } = installation.database
  const topic = installation.topics.name(INPUT_TOPIC)
  const { appId } = installation.topics
  const paid: string[] = []
  const set = async () => {
    const scope = { merchant: null, outTradeNo: null, eventType: 'ship' } as const
    const brake = await setBrake(pool, appId, topic, { ...scope, ...actor })
    if (brake.kind === 'too_many') throw new Error('too many')
    return brake.id
  }
  const pay = async (name: string) => {
    const orders = Array.from({ length: 4 }, (_, n) => `${name}-${n}`)
    await installation.createOrders(orders)
    await installation.send(orders.flatMap((order) => [payment(order), payment(order)]))
    paid.push(...orders)
  }
  const waiting = async () => (await pool.query('select from waiting_events')).rows.length
  try {
    const points = CRASH_POINTS.filter((point) =>
      /^release_|^emit_after_(first|ledger|kafka)|^batch_(before|after)_commit$|^brake_/.test(point),
    )
    for (const point of points) {
      const diesAt = (isHere: boolean) =>
        isHere ? startCrashing(installation, point, 'kill', ENV) : startProcessorChild(installation.env(ENV))
      const isWhileSet = /^(batch|brake)_/.test(point)
      const before = await lane()
      const first = diesAt(isWhileSet)
      let id: number
      try {
        await until('the lane is fenced', async () => (await lane()).fences > before.fences, 30_000)
        id = await set()
        await pay(point)
        if (isWhileSet) expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' })
        else await until('they wait', async () => (await waiting()) === 12, 30_000)
        expect((await lane()).nextSeq).toBe(before.nextSeq)
      } finally {
        await first.kill()
      }
      await releaseBrake(pool, appId, topic, { id, merchant: null, ...actor })
      const second = diesAt(!isWhileSet)
      try {
        if (!isWhileSet) expect(await second.exited).toEqual({ code: null, signal: 'SIGKILL' })
        else await until('all are numbered', async () => (await lane()).nextSeq === 3 * paid.length, 30_000)
      } finally {
        await second.kill()
      }
      if (isWhileSet) continue
      // What the dead one left of the release is for the next; the brake of the next point must not meet it.
      const third = startProcessorChild(installation.env(ENV))
      try {
        await until('the next owner goes on', async () => (await lane()).nextSeq === 3 * paid.length, 30_000)
      } finally {
        await third.kill()
      }
    }
    const last = startProcessorChild(installation.env(ENV))
    try {
      const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
      expect(checkExactlyOnce(paid, events, { inOrder: false })).toEqual(nothingWrong(paid))
      expect(await waiting()).toBe(0)
      const order = events.sort((a, b) => a.laneSeq - b.laneSeq).map(({ key, sequence }) => `${key} ${sequence}`)
      const behind = order.filter((line, n) => line.endsWith('3') && order.indexOf(line.replace(/3$/, '2')) > n)
      expect(behind).toEqual([])
      const { rows } = await pool.query('select from orders where waiting_count <> 0')
      expect(rows).toEqual([])
    } finally {
      expect(await last.stop()).toEqual({ code: 0, signal: null })
    }
  } finally {
    await installation.drop()
  }

  async function lane() {
    const { rows } = await pool.query<{ n: string; fences: string }>('select next_seq as n, fences from lanes')
    return { nextSeq: Number(rows[0]?.n ?? 0), fences: Number(rows[0]?.fences ?? 0) }
  }
}, 300_000)

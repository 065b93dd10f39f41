import type { CrashPoint } from '../../src/processor/crash-points.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { releaseBrake } from '../../src/store/release-brake.ts'
import { setBrake } from '../../src/store/set-brake.ts'
import { startProcessorChild, type Child } from './child.ts'
import { createTrigger } from './crash-matrix.ts'
import { createInstallation, payment, type Installation } from './installation.ts'
import { until } from './until.ts'

/** Processors of one installation, one after the other: each meets its point and is the trouble of the next. */
export interface CrashChain {
  readonly installation: Installation
  /** Orders that were rightly paid, named after the point at which they were in flight. */
  readonly paid: string[]
  /** Starts a processor and does what brings it to the point. Resolves when it is there. */
  readonly bringTo: (point: CrashPoint, action: 'kill' | 'stop') => Promise<Child>
  readonly keepBack: () => Promise<void>
  readonly letGo: () => Promise<void>
  readonly waiting: () => Promise<number>
}

const SESSION = { SESSION_TIMEOUT_MS: '1000', LOG_LEVEL: 'info' }
const ORDERS = 6
const by = { actor: 'ann', reason: 'r' }

export async function createCrashChain(partitions: number): Promise<CrashChain> {
  const installation = await createInstallation({ partitions })
  const { pool } = installation.database
  const { appId } = installation.topics
  const topic = installation.topics.name(INPUT_TOPIC)
  const paid: string[] = []
  let brake: number | undefined

  const pay = async (orders: readonly string[]) => {
    await installation.send(orders.flatMap((order) => [payment(order), payment(order)]))
    paid.push(...orders)
  }
  const count = async (text: string, values: readonly unknown[] = []) =>
    (await pool.query(text, [...values])).rowCount ?? 0
  const fences = async () => {
    const { rows } = await pool.query<{ sum: string }>('select coalesce(sum(fences), 0) as sum from lanes')
    return Number(rows[0]?.sum)
  }
  const waiting = () => count('select from waiting_events')
  const keepBack = async () => {
    const scope = { merchant: null, outTradeNo: null, eventType: 'ship' } as const
    const set = await setBrake(pool, appId, topic, { ...scope, ...by })
    if (set.kind === 'too_many') throw new Error('too many brakes')
    brake = set.id
  }
  const letGo = async () => {
    if (brake !== undefined) await releaseBrake(pool, appId, topic, { id: brake, merchant: null, ...by })
    brake = undefined
  }

  const bringTo = async (point: CrashPoint, action: 'kill' | 'stop'): Promise<Child> => {
    // All meet their end at the same record, and it is not to blame: else it would become a dead letter.
    // A row that one who was stopped has locked is left alone: Postgres ends that transaction after 15 s only.
    await pool.query(`update lanes set owner_deaths = 0, suspect_deaths = 0, suspect_offset = null
      where (topic, lane) in (select topic, lane from lanes for update skip locked)`)
    const orders = Array.from({ length: ORDERS }, (_, index) => `${point}-${action}-${index}`)
    const late = `${point}-${action}-late`
    await installation.createOrders(orders, '{"sku":"A-1"}')
    const isOfBrake = /^release_|^brake_/.test(point)
    const isOfWake = point.startsWith('wake')
    if (!isOfBrake) await pay([...orders, ...(isOfWake ? [late] : [])])
    const trigger = createTrigger()
    const before = await fences()
    const reached = trigger.arm(point, action)
    const child = startProcessorChild(installation.env({ ...SESSION, ...trigger.env }))
    // What the one before left undone is done first, and meets the point too.
    const isOver = () => trigger.isMet() || child.exit() !== undefined
    try {
      if (isOfWake) {
        const held = `select from facts join orders on id = order_id where out_trade_no = $1 and outcome = 'held'`
        await until(
          'the callback that came too early is held',
          async () => isOver() || (await count(held, [late])) === 1,
          60_000,
        )
        await installation.createOrders([late])
      }
      if (isOfBrake) {
        await until('every lane is fenced', async () => isOver() || (await fences()) >= before + partitions, 60_000)
        await keepBack()
        await pay(orders)
        if (point.startsWith('release_')) {
          await until('they wait', async () => isOver() || (await waiting()) >= ORDERS, 60_000)
          await letGo()
        }
      }
      await reached()
      if (action === 'kill') await child.exited
      return child
    } catch (error) {
      await child.kill()
      throw new Error(`${point}, ${action}: ${String(error)}; it said ${JSON.stringify(child.lines.slice(-5))}`, {
        cause: error,
      })
    }
  }
  return { installation, paid, bringTo, keepBack, letGo, waiting }
}

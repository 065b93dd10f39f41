import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { haltLane } from '../../src/store/lane-row.ts'
import { paidonceJson } from '../cli/paidonce.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from './check-exactly-once.ts'
import { groupTool } from './groups.ts'
import { createInstallation, payment, type Installation } from './installation.ts'
import { startTestProcessor, untilSettled } from './processor.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { until } from './until.ts'

/** An installation whose lanes have lost their ledger, and whose Postgres does not know of all that is out. */
export interface LostLedger {
  readonly installation: Installation
  /** Orders that were paid, three events each. */
  readonly paid: readonly string[]
  /** One more paid order in each lane. */
  readonly pay: () => Promise<void>
  /** Its ledger in Kafka when all that was paid is out. */
  readonly whole: () => number
  /** Sets Postgres back to before each lane's last order. No processor may run. */
  readonly setBack: () => Promise<void>
  readonly halt: (reason: string) => Promise<void>
  readonly haltedBy: (lane: number) => Promise<string | null>
  readonly ledgerOf: (lane: number) => Promise<{ offset: number; metadata: string } | undefined>
  readonly rebuildArgs: (lane: number) => string[]
  readonly rebuild: (lane: number) => Promise<{ code: number | null; result: string }>
  /** All that was paid is out, once; nothing that was imported is left over. */
  readonly findings: () => Promise<{ found: unknown; expected: unknown; imported: number }>
}

export async function createLostLedger(lanes: number): Promise<LostLedger> {
  const it = await createInstallation({ partitions: lanes })
  const { pool } = it.database
  const topic = it.topics.name(INPUT_TOPIC)
  const paid: string[] = []
  let number = 0
  const inLane = (lane: number): string => {
    for (;;) {
      const name = `L${number++}`
      if (it.laneOf(name) === lane) return name
    }
  }
  const pay = async () => {
    const orders = Array.from({ length: lanes }, (_, lane) => inLane(lane))
    await it.createOrders(orders)
    await it.send(orders.map((order) => payment(order)))
    paid.push(...orders)
  }
  const perLane = () => paid.length / lanes
  const setBack = async () => {
    const [last, next] = [paid.slice(-lanes), 3 * (perLane() - 1)]
    await pool.query('delete from events where lane_seq >= $1', [next])
    await pool.query('delete from facts where order_id in (select id from orders where out_trade_no = any($1))', [last])
    await pool.query(
      `update orders set status = 'pending', accepted_ref = null, paid_at = null, version = 0, sequence = 0
       where out_trade_no = any($1)`,
      [last],
    )
    await pool.query('update lanes set next_seq = $1::int8, settled_seq = $1::int8 - 3, applied_offset = $2', [
      next,
      perLane() - 1,
    ])
  }
  const rebuildArgs = (lane: number) => [
    ...['lane', 'rebuild', String(lane), '--reason', 'it is gone', '--actor', 'mei', '--yes', '--output', 'json'],
  ]
  return {
    installation: it,
    paid,
    pay,
    whole: () => 3 * perLane(),
    setBack,
    halt: async (reason) => {
      for (let lane = 0; lane < lanes; lane++) await haltLane(pool, topic, lane, { reason, detail: 'test' })
    },
    haltedBy: async (lane) => {
      const { rows } = await pool.query<{ halted_reason: string | null }>(
        'select halted_reason from lanes where lane = $1',
        [lane],
      )
      return rows[0]?.halted_reason ?? null
    },
    ledgerOf: async (lane) => (await groupTool(it).offsets('ledger')).get(lane),
    rebuildArgs,
    rebuild: async (lane) => {
      const env = it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>
      const { code, json } = await paidonceJson(rebuildArgs(lane).slice(0, -2), env)
      return { code, result: (json as { result: string }).result }
    },
    findings: async () => {
      const found = checkExactlyOnce(paid, await readEvents(it.topics, { atLeast: 3 * paid.length }))
      const { rowCount } = await pool.query('select from imported_events')
      return { found, expected: nothingWrong(paid), imported: rowCount ?? 0 }
    },
  }
}

/** With three orders a lane of which all is out: their last is not in Postgres any more, and every lane is halted. */
export async function createSetBackLedger(lanes: number): Promise<LostLedger> {
  const it = await createLostLedger(lanes)
  for (let order = 0; order < 3; order++) await it.pay()
  await workUntil(it, it.whole())
  await it.setBack()
  await groupTool(it.installation).delete('ledger')
  await it.halt('ledger_missing')
  return it
}

/** Runs a processor until each lane's ledger is at a number. */
export async function workUntil({ installation }: LostLedger, ledger: number): Promise<void> {
  const processor = await startTestProcessor(installation)
  try {
    await untilSettled([processor], installation.topics.partitions, 60_000)
    await untilLedger(processor, ledger)
  } finally {
    await processor.stop()
  }
}

export const untilLedger = (processor: RunningProcessor, ledger: number) =>
  until(`each ledger is ${ledger}`, () => processor.lanes().every((lane) => lane.ledger === ledger), 60_000)

import { expect, test } from 'vitest'
import type { CrashPoint } from '../../src/processor/crash-points.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { startCrashing } from '../helpers/crash.ts'
import { fileCommand } from '../../src/store/file-command.ts'
import { createInstallation, MERCHANT, payment } from '../helpers/installation.ts'
import { keepTables } from '../helpers/keep-tables.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

const POINTS = [
  'fence_before_init',
  'fence_after_init',
  'fence_after_backends',
  'fence_after_read',
  'fence_after_offsets',
  'fence_done',
] as const satisfies readonly CrashPoint[]

/**
 * What the frozen process has read by then must not be believed: with an old ledger beside the restored counter it would
 * number events anew as others that are out, and the fence after that would find all in order.
 */
test.each(POINTS)(
  'a process freezes at %s, another one works, Postgres is set back, it goes on: the lane halts',
  async (point) => {
    const installation = await createInstallation({ partitions: 1 })
    const { pool } = installation.database
    const pay = async (order: string) => {
      await installation.createOrders([order])
      await installation.send([payment(order)])
    }
    const work = async (order: string, ledger: number) => {
      const processor = await startTestProcessor(installation)
      await untilSettled([processor], 1, 60_000)
      await pay(order)
      await until(`${order} is out`, () => processor.lanes()[0]?.ledger === ledger, 60_000)
      await processor.stop()
    }
    await work('first', 3)
    const setBack = await keepTables(pool)
    const frozen = startCrashing(installation, point, 'stop')
    try {
      await frozen.reached(60_000)
      await work('second', 6)
      await setBack()
      // A command is done at once, by the first look at what there is to do.
      await installation.createOrders(['third'])
      await fileCommand(pool, installation.topics.appId, {
        ...{ kind: 'close', merchant: MERCHANT, outTradeNo: 'third', idempotencyKey: 'k', actor: 'a' },
        ...{ body: '{}', bodyHash: Buffer.alloc(32) },
      })
      frozen.signal('SIGCONT')
      await until(
        'the lane halts',
        async () => {
          const { rows } = await pool.query<{ reason: string | null }>('select halted_reason as reason from lanes')
          return rows[0]?.reason === 'ledger_above_counter'
        },
        60_000,
      )
      const events = await readEvents(installation.topics, { atLeast: 6 })
      expect(checkExactlyOnce(['first', 'second'], events)).toEqual(nothingWrong(['first', 'second']))
      const { rows } = await pool.query('select from events')
      expect(rows).toHaveLength(3)
    } finally {
      frozen.signal('SIGCONT')
      await frozen.kill()
      await installation.drop()
    }
  },
)

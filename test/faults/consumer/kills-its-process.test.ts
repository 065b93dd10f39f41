import { afterEach, beforeEach, expect, test } from 'vitest'
import { listDeadLetters, listUnsettled } from '../../../src/consumer/operate.ts'
import { startChild, type Child } from '../../helpers/child.ts'
import { anEvent, createDownstream, type Downstream } from '../../helpers/consumer.ts'
import { until } from '../../helpers/until.ts'

const CHILD = new URL('../../helpers/killer-child.ts', import.meta.url).pathname
const KILLS_MAX = 2

let downstream: Downstream
let child: Child | undefined
let ends: number
let isOver: boolean

beforeEach(async () => {
  ;[ends, isOver] = [0, false]
  downstream = await createDownstream(1)
  await downstream.database.pool.query('create table effects (event_id text)')
})
afterEach(async () => {
  isOver = true
  await child?.kill()
  await downstream.drop()
})

/** As a supervisor does: again, whenever it ends. */
async function supervise(): Promise<void> {
  while (!isOver) {
    child = startChild(
      CHILD,
      downstream.env({
        ...{ KILLS_MAX: String(KILLS_MAX), LOG_LEVEL: 'info', METRICS_PORT: '0', SESSION_TIMEOUT_MS: '1000' },
        NODE_OPTIONS: '--max-old-space-size=96',
      }),
    )
    await child.exited
    ends += 1
  }
}
const REASON = `the process ended ${KILLS_MAX} times while it handled this event and no other`

test('an event whose handler ends the process is kept aside, those beside and behind it happen once', async () => {
  const killers = ['exit', 'abort', 'memory', 'late'].map((way) => anEvent(way))
  const calls = anEvent('exit-call', { kind: 'cancel' })
  const others = Array.from({ length: 40 }, (_, n) => anEvent(`order-${n}`))
  const behind = killers.map(({ outTradeNo }) => anEvent(outTradeNo, { kind: 'return', sequence: 2 }))
  const innocent = [...others, ...behind]
  await downstream.emit([...others.slice(0, 5), ...killers, calls, ...behind, ...others.slice(5)])
  void supervise()
  await until(
    'all are settled',
    async () => {
      expect(await downstream.states()).toEqual({ done: innocent.length, dead: killers.length, unsettled: 1 })
      return true
    },
    900_000,
  )
  const { pool } = downstream.database
  const consumer = downstream.consumer
  const letters = (await listDeadLetters(pool, consumer)).map(({ eventId, kind, reason }) => ({
    eventId,
    kind,
    reason,
  }))
  expect(letters).toHaveLength(killers.length)
  for (const { eventId } of killers) expect(letters).toContainEqual({ eventId, kind: 'killed_process', reason: REASON })
  // A call that ended its process may have happened.
  expect(await listUnsettled(pool, consumer)).toMatchObject([{ eventId: calls.eventId, reason: REASON }])
  const { rows } = await pool.query<{ event_id: string }>('select event_id from effects')
  expect(rows.map((row) => row.event_id).toSorted()).toEqual(innocent.map(({ eventId }) => eventId).toSorted())
  // Twice until it is known which ones are to blame, and each of them alone.
  expect(ends).toBeLessThanOrEqual(2 + (killers.length + 1) * KILLS_MAX)
}, 1_000_000)

import { afterEach, describe, expect, test } from 'vitest'
import { REBUILD_CRASH_POINTS, type RebuildCrashPoint } from '../../../src/cli/crash-points.ts'
import type { CrashPoint } from '../../../src/processor/crash-points.ts'
import { startCrashing, startCrashingCli } from '../../helpers/crash.ts'
import { groupTool } from '../../helpers/groups.ts'
import { createLostLedger, untilLedger, workUntil, type LostLedger } from '../../helpers/lost-ledger.ts'
import { startTestProcessor } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'

/** An owner fences a lane whose ledger is just being rebuilt: exact in the end, or halted; never doubled. */
let it: LostLedger
afterEach(() => it.installation.drop())

async function prepare(lanes: number) {
  it = await createLostLedger(lanes)
  for (let order = 0; order < 3; order++) await it.pay()
  await workUntil(it, it.whole())
}
const fencesOf = async () => {
  const { rows } = await it.installation.database.pool.query<{ lane: number; fences: number }>(
    'select lane, fences::int from lanes order by lane',
  )
  return rows.map(({ fences }) => fences)
}
/** Lanes whose owner has fenced in Kafka, and waits in Postgres for the row that the rebuild has locked. */
const waitingLanes = async () => {
  const { rows } = await it.installation.database.pool.query<{ lane: number }>(
    `select substring(application_name from '-lane-([0-9]+)-new$')::int as lane from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and application_name like '%-new'`,
  )
  return rows.map(({ lane }) => lane)
}

const untilRebuilt = async (lane: number) => {
  const ends: { code: number | null; result: string }[] = []
  while (ends.at(-1)?.code !== 0 && ends.length < 5) ends.push(await it.rebuild(lane))
  const last = ends.pop()
  expect(last, `lane ${lane}`).toEqual({ code: 0, result: 'rebuilt' })
  for (const end of ends) expect(end).toEqual({ code: 3, result: 'fenced' })
}

test('an owner fences while the rebuild stands at each of its points', async () => {
  await prepare(REBUILD_CRASH_POINTS.length)
  const { installation } = it
  await it.setBack()
  await groupTool(installation).delete('ledger')
  await it.halt('ledger_missing')
  const rebuilds = REBUILD_CRASH_POINTS.map((point, lane) =>
    startCrashingCli(installation, it.rebuildArgs(lane), point, 'stop'),
  )
  try {
    await Promise.all(rebuilds.map((child) => child.reached(90_000)))
    const before = await fencesOf()
    const owner = await startTestProcessor(installation)
    try {
      const fenced = new Set<number>()
      await until(
        'the owner has fenced every lane',
        async () => {
          for (const lane of await waitingLanes()) fenced.add(lane)
          for (const [lane, fences] of (await fencesOf()).entries()) if (fences > (before[lane] ?? 0)) fenced.add(lane)
          return fenced.size === rebuilds.length
        },
        60_000,
      )
      for (const child of rebuilds) child.signal('SIGCONT')
      const ends = await Promise.all(rebuilds.map(async (child) => (await child.exited).code))
      // Whoever had fenced and not yet written the ledger is fenced off.
      const isOff = (point: RebuildCrashPoint) => {
        const at = REBUILD_CRASH_POINTS.indexOf(point)
        return at > 0 && at < REBUILD_CRASH_POINTS.indexOf('rebuild_ledger_committed')
      }
      for (const [lane, point] of REBUILD_CRASH_POINTS.entries()) {
        // Postgres ends a transaction that idles for 30 s: on a slow machine it could not be ended.
        const isOpen = /_imported$|_before_commit$/.test(point)
        const said = rebuilds[lane]?.lines.map(({ text }) => String(text)).join('')
        if (isOff(point)) {
          expect(ends[lane], `${point}: ${said ?? ''}`).toBe(3)
          if (!isOpen) expect(said, point).toContain('"result": "fenced"')
          expect([await it.haltedBy(lane), await it.ledgerOf(lane)], point).toEqual(['ledger_missing', undefined])
        } else {
          // One that fences only now may meet the owner's next fence, when its group has joined again.
          const mayBeOff = isOpen || point === 'rebuild_before_fence'
          expect(mayBeOff ? [0, 3] : [0], `${point}: ${said ?? ''}`).toContain(ends[lane])
        }
        if (ends[lane] === 3) await untilRebuilt(lane)
      }
      await it.pay()
      await untilLedger(owner, it.whole())
      const { found, expected, imported } = await it.findings()
      expect(found).toEqual(expected)
      expect(imported).toBe(0)
    } finally {
      await owner.stop()
    }
  } finally {
    for (const child of rebuilds) await child.kill()
  }
}, 300_000)

test('the lane was resumed and halted by something else, just before the rebuild resumes it: it stays halted', async () => {
  await prepare(1)
  const { installation } = it
  await groupTool(installation).delete('ledger')
  await it.halt('ledger_missing')
  const child = startCrashingCli(installation, it.rebuildArgs(0), 'rebuild_ledger_committed', 'stop')
  try {
    await child.reached(60_000)
    await installation.database.pool.query(`update lanes set halted_reason = null`)
    await it.halt('flood')
    child.signal('SIGCONT')
    expect(await child.exited).toEqual({ code: 3, signal: null })
    expect(child.lines.map(({ text }) => String(text)).join('')).toContain('"result": "changed"')
    expect([await it.haltedBy(0), (await it.ledgerOf(0))?.offset]).toEqual(['flood', 9])
  } finally {
    await child.kill()
  }
})

const FENCE_POINTS = [
  'fence_before_init',
  'fence_after_init',
  'fence_after_offsets',
  'fence_after_backends',
  'fence_after_read',
  'fence_done',
] as const satisfies readonly CrashPoint[]

describe.each([
  ['the ledger is gone', 'ledger_missing'],
  // The owner would write again what it has read, so that a long halt does not let it expire.
  ['the ledger was set back, with its mark', 'ledger_below_settled'],
] as const)('%s', (_, reason) => {
  test('a rebuild runs from its beginning to its end while the owner stands at each point of its fence', async () => {
    await prepare(1)
    const { installation } = it
    for (const point of FENCE_POINTS) {
      if (reason === 'ledger_missing') {
        await it.setBack()
        await groupTool(installation).delete('ledger')
      } else {
        await installation.database.pool.query('update lanes set settled_seq = next_seq')
        await groupTool(installation).set('ledger', 0, it.whole() - 3, true)
      }
      await it.halt(reason)
      const owner = startCrashing(installation, point, 'stop')
      try {
        await owner.reached(60_000)
        // Until its death is noticed it holds nothing that a rebuild must wait for.
        expect(await it.rebuild(0), point).toEqual({ code: 0, result: 'rebuilt' })
        expect(await it.ledgerOf(0), point).toEqual({ offset: it.whole(), metadata: String(it.whole()) })
        owner.signal('SIGCONT')
        await it.pay()
        await until(
          `${point}: the owner goes on, or is halted`,
          async () => (await it.ledgerOf(0))?.offset === it.whole() || (await it.haltedBy(0)) !== null,
          60_000,
        )
        expect(await it.haltedBy(0), point).toBeNull()
      } finally {
        owner.signal('SIGCONT')
        await owner.stop()
      }
    }
    const { found, expected, imported } = await it.findings()
    expect(found).toEqual(expected)
    expect(imported).toBe(0)
  }, 300_000)
})

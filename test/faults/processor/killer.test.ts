import { expect, test } from 'vitest'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { startProcessorChild } from '../../helpers/child.ts'
import { createInstallation, payment } from '../../helpers/installation.ts'
import { until } from '../../helpers/until.ts'

const ENV = { SESSION_TIMEOUT_MS: '1000', MUTANT: 'dies_of_killer', LOG_LEVEL: 'warn' }

test('a record that kills its owner is isolated: it is a dead letter, and all others are applied', async () => {
  const it = await createInstallation({ partitions: 2 })
  const { pool } = it.database
  const names = Array.from({ length: 400 }, (_, index) => `N${index}`)
  const [first = '', second = ''] = ['killer-1', 'killer-2', 'killer-3', 'killer-4'].filter((k) => it.laneOf(k) === 0)
  await it.createOrders([...names, first, second])
  // In the midst of innocents, twice; lane 1 has only innocents.
  await it.send(
    [...names.slice(0, 150), first, ...names.slice(150, 300), second, ...names.slice(300)].map((n) => payment(n)),
  )
  const letters = async () =>
    (
      await pool.query<{ reason: string; key: string; detail: string }>(
        `select reason, convert_from(key, 'UTF8') as key, detail from dead_letters order by kafka_offset`,
      )
    ).rows
  let deaths = 0
  let child = startProcessorChild(it.env(ENV))
  try {
    await until(
      'both are dead letters',
      async () => {
        if (child.exit() !== undefined) {
          expect(child.exit()).toEqual({ code: null, signal: 'SIGKILL' })
          deaths++
          child = startProcessorChild(it.env(ENV))
        }
        return (await letters()).length === 2
      },
      120_000,
    )
    expect(await letters()).toMatchObject(
      [first, second].map((key) => ({
        key,
        reason: 'killed_owner',
        detail: expect.stringContaining('3 times') as string,
      })),
    )
    const events = await readEvents(it.topics, { atLeast: 3 * names.length })
    expect(checkExactlyOnce(names, events, { inOrder: false })).toEqual(nothingWrong(names))
    console.log(`${deaths} deaths for two killers`)
    // Twice with company and three times alone, each; what lies close together is suspect together.
    expect(deaths).toBeLessThanOrEqual(10)
    const { rows } = await pool.query('select owner_deaths, suspect_offset, suspect_deaths from lanes where lane = 0')
    expect(rows).toEqual([{ owner_deaths: 0, suspect_offset: null, suspect_deaths: 0 }])
  } finally {
    await child.kill()
    await it.drop()
  }
}, 180_000)

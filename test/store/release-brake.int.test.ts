import { expect, test } from 'vitest'
import { listBrakes } from '../../src/store/list-brakes.ts'
import { readBrakes } from '../../src/store/read-brakes.ts'
import { releaseBrake } from '../../src/store/release-brake.ts'
import { setBrake } from '../../src/store/set-brake.ts'
import { finishBrakes, type BrakeStep } from '../../src/store/tell-lanes.ts'
import { withDatabase } from '../helpers/database.ts'
import { keepTables } from '../helpers/keep-tables.ts'
import { APP, TOPIC } from '../helpers/lane-bench.ts'

test.each(['ruled', 'told_lane'] as const satisfies BrakeStep[])(
  'Postgres is set back to before a release that stands at %s: the brake is set, and can be released',
  (step) =>
    withDatabase(async (_url, pool) => {
      await pool.query(
        `insert into lanes (topic, lane, start_offset, applied_offset) select $1, n, 0, 0 from generate_series(0, 1) n`,
        [TOPIC],
      )
      const by = { merchant: 'm1', outTradeNo: null, eventType: 'ship' as const, actor: 'ann', reason: 'wrong labels' }
      const { id } = (await setBrake(pool, APP, TOPIC, by)) as { id: number }
      const setBack = await keepTables(pool)
      const release = { id, merchant: null, actor: 'ben', reason: 'mended' }
      let isSetBack = false
      await releaseBrake(pool, APP, TOPIC, release, async (at) => {
        if (at !== step || isSetBack) return
        isSetBack = true
        await setBack()
      })
      await finishBrakes(pool, APP, TOPIC)
      expect((await readBrakes(pool, TOPIC, 1))?.set).toMatchObject([{ id }])
      expect(await listBrakes(pool, null)).toMatchObject([{ id }])
      const { version = 0 } = (await readBrakes(pool, TOPIC, 1)) ?? {}
      expect(await releaseBrake(pool, APP, TOPIC, release)).toMatchObject({ kind: 'released', untold: [] })
      expect(await readBrakes(pool, TOPIC, 1)).toEqual({ version: version + 1, set: [] })
    }),
)

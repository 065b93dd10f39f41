import type pg from 'pg'
import type { z } from 'zod'
import { COMMON, KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { readLane, type LaneRow } from '../store/lane-row.ts'
import { assertOurs } from './assert-ours.ts'
import { ANSWERING, withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'

const OURS = { APP_ID: COMMON.APP_ID, TOPIC_PREFIX: KAFKA.TOPIC_PREFIX, ...POSTGRES }

/** The lanes that APP_ID and TOPIC_PREFIX name, and the database that knows them by these. */
export interface Lanes<Config> {
  readonly config: Config
  readonly appId: string
  /** The input topic's full name. */
  readonly topic: string
  /** @throws CliFailure there is none of this number */
  readonly laneOf: (lane: number) => Promise<LaneRow>
}

/**
 * Runs a verb about lanes: reads its configuration, all mistakes at once, and makes sure that the lanes are those of
 * this database before anything is looked at or changed.
 * @param needs what the verb reads beside APP_ID, TOPIC_PREFIX and DATABASE_URL
 */
export async function withLanes<Needs extends z.ZodRawShape, T>(
  env: NodeJS.ProcessEnv,
  needs: Needs,
  work: (pool: pg.Pool, lanes: Lanes<ReturnType<typeof readConfig<Needs>>>) => Promise<T>,
): Promise<T> {
  const { APP_ID: appId, TOPIC_PREFIX } = readBoth(env, needs)
  const config = readConfig(needs, env)
  const topic = TOPIC_PREFIX + INPUT_TOPIC
  return withDatabase(
    env,
    async (pool) => {
      await assertOurs(pool, appId, TOPIC_PREFIX)
      const laneOf = async (lane: number) => {
        const row = await readLane(pool, topic, lane)
        if (row === undefined)
          throw new CliFailure(EXIT.findings, `There is no lane ${lane} of ${topic}.`, 'See: paidonce lane status')
        return row
      }
      return work(pool, { config, appId, topic, laneOf })
    },
    ANSWERING,
  )
}

/** Together, so that whoever mends one mistake is not told of the next. */
function readBoth(env: NodeJS.ProcessEnv, needs: z.ZodRawShape): ReturnType<typeof readConfig<typeof OURS>> {
  readConfig({ ...OURS, ...needs }, env)
  return readConfig(OURS, env)
}

import type pg from 'pg'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import { listTopologies } from '../store/topology.ts'
import { CliFailure, EXIT } from './failure.ts'

/**
 * That APP_ID and TOPIC_PREFIX are those of the processors of this database: with others a verb fences nobody, reads the
 * offsets of nobody, and writes where no lane looks.
 * @throws CliFailure naming the variable and what to set it to
 */
export async function assertOurs(pool: pg.Pool, appId: string, topicPrefix: string): Promise<void> {
  const topic = topicPrefix + INPUT_TOPIC
  const known = await listTopologies(pool)
  const ours = known.find((one) => one.topic === topic)
  if (ours === undefined && known.length > 0) {
    const prefixes = known.map((one) => one.topic.slice(0, -INPUT_TOPIC.length) || "''")
    throw new CliFailure(
      EXIT.usage,
      `TOPIC_PREFIX is '${topicPrefix}', and this database knows no ${topic}.`,
      `Set TOPIC_PREFIX=${prefixes.join(' or ')}, or DATABASE_URL to the other database.`,
    )
  }
  const { appId: recorded = appId } = ours ?? {}
  if (recorded !== appId)
    throw new CliFailure(
      EXIT.usage,
      `APP_ID is '${appId}', and the lanes of ${topic} are ${recorded}'s.`,
      `Set APP_ID=${recorded}.`,
    )
}

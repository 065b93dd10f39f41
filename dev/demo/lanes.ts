import pg from 'pg'
import { createOffsetReader } from '../../src/runtime/kafka/offset-reader.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC, inputGroup, ledgerGroup } from '../../src/schemas/topics.ts'

/** Where a lane stands, from Kafka and Postgres. */
export interface LaneState {
  readonly lane: number
  /** Where its records end. */
  readonly end: number
  /** Records not yet read for good. */
  readonly lag: number
  /** The number of the next event, in Postgres. */
  readonly nextSeq: number
  /** Below it events are in Kafka. */
  readonly ledger: number
}

export interface LaneWatch {
  readonly read: () => Promise<LaneState[]>
  readonly close: () => Promise<void>
}

export async function watchLanes(options: {
  readonly brokers: string
  readonly databaseUrl: string
  readonly appId: string
  readonly topicPrefix: string
}): Promise<LaneWatch> {
  const { brokers, databaseUrl, appId, topicPrefix } = options
  const offsets = await createOffsetReader({ brokers: brokers.split(','), ssl: false }, createLog('demo', 'silent'))
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  pool.on('error', () => undefined)
  const topic = topicPrefix + INPUT_TOPIC
  return {
    read: async () => {
      const { rows } = await pool.query<{ lane: number; next_seq: string }>(
        'select lane, next_seq from lanes where topic = $1 order by lane',
        [topic],
      )
      return Promise.all(
        rows.map(async ({ lane, next_seq }) => {
          const [group, ledger, range] = await Promise.all([
            offsets.committed(inputGroup(appId), topic, lane),
            offsets.committed(ledgerGroup(appId), topic, lane),
            offsets.logRange(topic, lane),
          ])
          const lag = range.end - (group?.offset ?? range.start)
          return { lane, end: range.end, lag, nextSeq: Number(next_seq), ledger: ledger?.offset ?? 0 }
        }),
      )
    },
    close: async () => {
      await offsets.close()
      await pool.end()
    },
  }
}

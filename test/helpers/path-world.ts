import { readApiConfig } from '../../src/api/config.ts'
import { startApi } from '../../src/api/start.ts'
import { EmissionFailed } from '../../src/processor/emit.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { recordTopology } from '../../src/store/topology.ts'
import { callWith, type Call } from '../api/start-api.ts'
import { groupTool } from './groups.ts'
import { createInstallation, type Installation, type Sent } from './installation.ts'
import { startTestProcessor } from './processor.ts'
import { until } from './until.ts'

/** An installation in which every lane gets the same work, one order of each kind, while no processor runs. */
export interface PathWorld {
  readonly it: Installation
  readonly lanes: readonly number[]
  /** The number of a lane's order: `round-what-lane` and something that brings it there. */
  readonly nameOf: (round: string, what: string, lane: number) => string
  readonly namesOf: (round: string, what: string) => readonly string[]
  /** Has a processor read these records, until so many rows are found. It emits, or no emission of it succeeds. */
  readonly process: (sent: readonly Sent[], found: { text: string; rows: number }, emits?: boolean) => Promise<void>
  /** Lanes of which Kafka has all that Postgres has numbered. */
  readonly lanesOut: () => Promise<number>
  /** An operator's caller. Starts an api for as long as the work takes. */
  readonly asOperator: (work: (call: Call) => Promise<void>) => Promise<void>
}

const PATIENCE_MS = 90_000

export async function createPathWorld(partitions: number): Promise<PathWorld> {
  const it = await createInstallation({ partitions })
  const { pool } = it.database
  await recordTopology(pool, it.topics.name(INPUT_TOPIC), partitions)
  const { token, hash } = mintToken()
  await insertApiToken(pool, { name: 'ann', merchant: null, role: 'admin', expiresAtMs: null, tokenHash: hash })
  const lanes = Array.from({ length: partitions }, (_, lane) => lane)
  const nameOf = (round: string, what: string, lane: number) => {
    for (let n = 0; ; n++) {
      const name = `${round}-${what}-${lane}-${n}`
      if (it.laneOf(name) === lane) return name
    }
  }
  const ledgers = groupTool(it)
  const lanesOut = async () => {
    const [offsets, { rows }] = await Promise.all([
      ledgers.offsets('ledger'),
      pool.query<{ lane: number; next: number }>('select lane, next_seq::int as next from lanes'),
    ])
    return rows.filter(({ lane, next }) => offsets.get(lane)?.offset === next).length
  }
  return {
    ...{ it, lanes, lanesOut, nameOf, namesOf: (round, what) => lanes.map((lane) => nameOf(round, what, lane)) },
    process: async (sent, { text, rows }, emits = true) => {
      await it.send(sent)
      const reach = (point: string) => {
        if (!emits && point === 'emit_before_transaction') throw new EmissionFailed('as a broker that is away')
      }
      const processor = await startTestProcessor(it, { LOG_LEVEL: 'silent' }, { reach })
      try {
        await until(`${rows} rows`, async () => (await pool.query(text)).rowCount === rows, PATIENCE_MS)
        if (emits) await until('all is out', async () => (await lanesOut()) === partitions, PATIENCE_MS)
      } finally {
        await processor.stop()
      }
    },
    asOperator: async (work) => {
      const api = await startApi(readApiConfig(it.env({ LOG_LEVEL: 'silent', COMMAND_WAIT_MS: '0' })), {
        log: createLog('api', 'silent'),
      })
      try {
        await until('the api is ready', async () => (await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)).ok)
        await work(callWith(`http://127.0.0.1:${api.port}`, token))
      } finally {
        await api.stop()
      }
    },
  }
}

import type pg from 'pg'
import { BadConfiguration } from '../runtime/config.ts'
import { partitionFor } from '../runtime/kafka/partition.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { isUnmigrated } from '../runtime/postgres-fault.ts'
import { findTopology, otherAppId, type Topology } from '../store/topology.ts'
import type { Refusal } from './refusal.ts'

/** Which lane an order belongs to, and whether the database can be worked with at all. */
export interface Lanes {
  /** How many there are; undefined: not known, or not the same any more. */
  readonly count: () => number | undefined
  readonly laneOf: (outTradeNo: string) => number | undefined
  /** True, or why not. */
  readonly ready: () => true | string
  readonly close: () => void
}

export const LANES_UNKNOWN: Refusal = {
  kind: 'not_ready',
  detail: 'The number of lanes is not known yet.',
  remedy: 'Run: paidonce topics create, with DATABASE_URL set.',
}

const LOOK_AGAIN_MS = 5_000
const RETRY_MS_MIN = 100

/**
 * Asks Postgres for the topology until it is there, and then every 5 s whether it still answers and says the same: an
 * order with a lane from another count would never meet its callbacks, so a changed one stops creation until a restart.
 * @param onFatal called when the lanes are another APP_ID's, who listens elsewhere for what is filed here
 */
export function watchLanes(
  pool: pg.Pool,
  { inputTopic, appId }: { readonly inputTopic: string; readonly appId: string },
  log: Log,
  onFatal: (error: Error) => void,
): Lanes {
  let partitions: number | undefined
  let state: true | string = 'the database has not answered yet'
  let timer: NodeJS.Timeout | undefined
  let failures = 0
  let closed = false

  function see(topology: Topology | undefined) {
    failures = 0
    const found = topology?.partitions
    const other = topology && otherAppId(inputTopic, appId, topology)
    if (other !== undefined) {
      state = other
      onFatal(new BadConfiguration(other))
    } else if (found === undefined) state = `no topology is recorded for ${inputTopic}: run paidonce topics create`
    else if (partitions !== undefined && partitions !== found)
      state = `${inputTopic} had ${partitions} lanes when this process started and has ${found} now: restart it`
    else {
      if (partitions === undefined) log.info({ partitions: found }, 'lanes known')
      partitions = found
      state = true
    }
  }
  function fail(error: unknown) {
    failures++
    state = isUnmigrated(error) ? 'tables are missing: run paidonce migrate' : 'the database does not answer'
    log.warn({ error: describeError(error), failures }, state)
  }
  async function look() {
    await findTopology(pool, inputTopic).then(see, fail)
    if (closed) return
    const waitMs = failures === 0 && state === true ? LOOK_AGAIN_MS : RETRY_MS_MIN * 2 ** Math.min(failures, 5)
    timer = setTimeout(() => void look(), Math.min(LOOK_AGAIN_MS, waitMs) * (0.75 + Math.random() / 4))
    timer.unref()
  }
  void look()
  const count = () => (state !== true && failures === 0 ? undefined : partitions)
  return {
    count,
    laneOf: (outTradeNo) => {
      const known = count()
      return known === undefined ? undefined : partitionFor(outTradeNo, known)
    },
    ready: () => state,
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { JavaRecord } from '../../dev/parts/java-topics.ts'
import { startCarrier, type Carrier } from '../../examples/carrier/carrier.ts'
import { randomOf } from '../../src/simulator/random.ts'
import { SHIPMENTS, type InboxRow, type Parcel } from './shipped-once.ts'
import type { World } from './world.ts'

/** Of a hundred parcels four leave without an answer, or with a wrong one; two are refused and may be asked for again. */
const BEHAVIOUR = { loseAnswers: 0.02, failAfter: 0.02, refuseBefore: 0.02, slowMs: 2 }
const LOOK_MS = 250

/** A carrier that is not idempotent, in this process, and what the worker that ships with it is told. */
export interface Shipping {
  readonly carrier: Carrier
  readonly env: NodeJS.ProcessEnv
}

export async function startShipping(appId: string): Promise<Shipping> {
  const random = randomOf(1)
  const carrier = await startCarrier(0, () => random.below(1_000_000) / 1_000_000)
  carrier.behave(BEHAVIOUR)
  return {
    carrier,
    env: {
      ...{ CONSUMER_NAME: `${appId}-shipment`, CARRIER_URL: carrier.url, RETRY_TO_MS: '5000' },
      // The carrier is slow where this process gets no turn: what it says of being done by then must stay true.
      ...{ CARRIER_CALL_MS: '2000', CARRIER_LATE_MS: '3000' },
    },
  }
}

/** What the carrier did, and what the worker knows of it, when all that was seen is done, or at the deadline. */
export async function shippedBy(
  { workerDatabaseUrl, topicPrefix, carrier }: World,
  seen: readonly JavaRecord[],
  deadlineMs: number,
): Promise<{ readonly inbox: readonly InboxRow[]; readonly done: readonly Parcel[] }> {
  const events = seen.filter(({ topic }) => topic === topicPrefix + SHIPMENTS).length
  const inbox = await untilShipped(workerDatabaseUrl, events, deadlineMs)
  return { inbox, done: [...carrier.done] }
}

/** Waits until so many events are settled or left to a person. */
async function untilShipped(databaseUrl: string, events: number, deadlineMs: number): Promise<InboxRow[]> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  pool.on('error', () => undefined)
  const read = async () =>
    (
      await pool.query<InboxRow>(
        `select event_id as "eventId", state, reason, reference from paidonce_consumer.inbox order by seq`,
      )
    ).rows
  const deadline = performance.now() + deadlineMs
  try {
    for (;;) {
      const rows = await read()
      const rest = rows.filter(({ state }) => !AT_REST.has(state)).length
      if ((rows.length >= events && rest === 0) || performance.now() > deadline) return rows
      await sleep(LOOK_MS)
    }
  } finally {
    await pool.end()
  }
}
const AT_REST: ReadonlySet<string> = new Set(['done', 'unsettled', 'dead'])

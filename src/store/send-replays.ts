import type pg from 'pg'
import { isBusy } from '../runtime/postgres-fault.ts'
import { splitMessages } from '../runtime/kafka/split-messages.ts'
import type { OutgoingMessage, PlainProducer } from '../runtime/kafka/port.ts'
import { replayHeaders, REPLAY_ORIGIN_HEADER } from '../schemas/headers.ts'
import { headersOf } from './read-dead-letters.ts'
import { int, rowsOf } from './statement.ts'

/** Every dangerous moment of a replay, in order; the tests end the process at each. */
export const REPLAY_POINTS = [
  'replay_requested', // written down, nothing is sent
  'replay_before_send',
  'replay_after_send', // the topic has it, Postgres does not know
  'replay_after_mark',
] as const
export type ReplayPoint = (typeof REPLAY_POINTS)[number]

export interface SendOptions {
  /** The input topic's full name. */
  readonly topic: string
  readonly runId: number
  readonly onProgress?: (sent: number) => void
  readonly reach?: (point: ReplayPoint) => void | Promise<void>
  /** Aborted: nothing more is sent after what is on its way. */
  readonly signal?: AbortSignal
  /** After so long without a word from a sender that is frozen or cut off, somebody else may send. */
  readonly leaseMs?: number
}

/** `busy`: somebody else is sending this run now. */
export type Sent = { readonly kind: 'sent' | 'aborted'; readonly count: number } | { readonly kind: 'busy' }

/** Longer than a call to Kafka may take, or whoever waits for one would lose its lock. */
const LEASE_MS = 60_000
/** Kept below what a process should hold: a value may have 1 MB. */
const CHUNK = 50
const SEND_MS_MAX = 20_000
/** Any number will do, as long as nothing else takes it for its locks. */
const LOCK = 72_057_114
const LOCK_MS_MAX = 2_000

/**
 * Sends what a run has not sent yet, to the lane of each key, in the order of the dead letters. Whoever dies here leaves
 * nothing lost: what is not marked is sent by the next call, unless its lane has met it already. A record that is in the
 * topic twice carries the same replay id twice: the dedupe takes the second one, and the first one is the answer.
 * @throws what Kafka or Postgres throw: call it again
 */
export async function sendReplays(pool: pg.Pool, producer: PlainProducer, options: SendOptions): Promise<Sent> {
  const { runId, onProgress, reach = () => undefined } = options
  // Its own connection: the lock lives as long as whoever sends.
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    if (!(await lock(client, runId, options.leaseMs ?? LEASE_MS))) return { kind: 'busy' }
    await reach('replay_requested')
    let count = 0
    for (;;) {
      const chunk = await unsent(client, runId)
      if (chunk.length === 0) return { kind: 'sent', count }
      await sendChunk(client, producer, chunk, options)
      count += chunk.length
      if (options.signal?.aborted === true) return { kind: 'aborted', count }
      onProgress?.(count)
    }
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    // Closed rather than given back: the lock ends with it.
    client.release(failure ?? true)
  }
}

/** Waits a moment: the server may not have noticed yet that whoever sent before is dead. */
async function lock(client: pg.ClientBase, runId: number, leaseMs: number): Promise<boolean> {
  await client.query(`set lock_timeout = ${LOCK_MS_MAX}; set idle_session_timeout = ${leaseMs}`)
  try {
    await client.query('select pg_advisory_lock($1, $2)', [LOCK, runId])
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  }
}

interface Unsent {
  readonly id: number
  readonly letterId: number
  readonly lane: number
  readonly isMet: boolean
  readonly message: OutgoingMessage
}

async function unsent(client: pg.ClientBase, runId: number): Promise<Unsent[]> {
  const text = `select r.id, r.count, r.lane, d.id, d.topic, d.lane, d.kafka_offset, d.key, d.value, d.headers,
      exists (select from deliveries v where v.replay_id = r.id)
    from replays r join dead_letters d on d.id = r.dead_letter_id
    where r.run_id = $1 and r.sent_at is null order by r.id limit ${CHUNK}`
  type Row = [
    ...[id: unknown, count: number, lane: number, letterId: unknown, topic: string, fromLane: number, offset: unknown],
    ...[key: Buffer | null, value: Buffer | null, headers: Record<string, string>, isMet: boolean],
  ]
  const rows = await rowsOf<Row>(client, { name: 'unsent-replays', text }, [runId])
  return rows.map(([id, count, lane, letterId, topic, fromLane, offset, key, value, kept, isMet]) => {
    const headers = headersOf(kept)
    const origin = headers[REPLAY_ORIGIN_HEADER]?.toString('latin1') ?? `${topic}/${fromLane}/${int(offset)}`
    const message = {
      key,
      value: value ?? Buffer.alloc(0), // Refused when it was asked for: `no_value`.
      headers: { ...headers, ...replayHeaders({ id: int(id), count }, int(letterId), origin) },
    }
    return { id: int(id), letterId: int(letterId), lane, isMet, message }
  })
}

async function sendChunk(
  client: pg.ClientBase,
  producer: PlainProducer,
  chunk: readonly Unsent[],
  { topic, reach = () => undefined }: SendOptions,
): Promise<void> {
  await mark(
    client,
    chunk.filter(({ isMet }) => isMet),
  )
  const lanes = new Map<number, Unsent[]>()
  for (const replay of chunk) {
    if (replay.isMet) continue
    const others = lanes.get(replay.lane)
    if (others === undefined) lanes.set(replay.lane, [replay])
    else others.push(replay)
  }
  for (const [lane, replays] of lanes) {
    let from = 0
    for (const messages of splitMessages(replays.map(({ message }) => message))) {
      await reach('replay_before_send')
      await producer.send({ topic, partition: lane, messages }, SEND_MS_MAX)
      await reach('replay_after_send')
      await mark(client, replays.slice(from, from + messages.length))
      await reach('replay_after_mark')
      from += messages.length
    }
  }
}

async function mark(client: pg.ClientBase, replays: readonly Unsent[]): Promise<void> {
  if (replays.length === 0) return
  await client.query(
    `with sent as (update replays set sent_at = now() where id = any($1::int8[]) returning dead_letter_id)
     update dead_letters d set status = 'replayed', closed_at = now() from sent
     where d.id = sent.dead_letter_id and d.status = 'replaying'`,
    [replays.map(({ id }) => id)],
  )
}

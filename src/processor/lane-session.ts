import pg from 'pg'
import { describeError, type Log } from '../runtime/log.ts'
import {
  createConnection,
  RolledBack,
  type CreateConnection,
  type OwnConnection,
  type Queryable,
  type Transaction,
} from '../runtime/postgres.ts'
import { withDeadline } from '../runtime/kafka/deadline.ts'
import { countFence, type LaneRow, type Survived } from '../store/lane-row.ts'
import { letGo } from '../store/suspect.ts'
import type { Reach } from './crash-points.ts'
import { endOlderBackends } from '../store/end-older-backends.ts'

const SETTINGS = {
  // Generic plans made while a table or a day's partition is empty are kept too long: the access paths are pinned
  // (single runs: 117 against 47 µs a callback, 516 against 67 when reading events).
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off', // Before 18 a path that is off costs 1e10, which calls the compiler.
  // A client that is frozen keeps its locks for ever, otherwise.
  idle_in_transaction_session_timeout: '15s',
  lock_timeout: '5s', // of a fence, which holds up no other lane
  statement_timeout: '30s',
  tcp_user_timeout: '15s',
  tcp_keepalives_idle: '10s',
  tcp_keepalives_interval: '5s',
  tcp_keepalives_count: '3',
} as const
/**
 * Of a batch or wake, once the fence is done: kafkajs fetches for no lane while one waits inside its call (with 5 s,
 * one locked order kept the other lanes waiting 5.1 s). The lane then waits outside, with backoff. Above what another
 * lane's transaction takes under load.
 */
const LOCK_TIMEOUT = '500ms'
/** Longer than any statement may take there: no answer by then means no connection. */
const ANSWER_MS_MAX = 40_000
const LET_GO_MS_MAX = 500
/**
 * The join order is not pinned, and tables grow from nothing: plans are made anew, between batches, first soon and then
 * every 10 s. (2 ms each time; a plan made with an empty table can cost that in every batch.)
 */
const PLANS_MS_MIN = 250
const PLANS_MS_MAX = 10_000

/** What a transaction's work came to: only `commit` is committed. */
export type Work<T> = { readonly commit: boolean; readonly value: T }

/** An incarnation's own connection. When it is lost, the incarnation ends. */
export interface LaneSession extends Queryable {
  readonly appId: string
  /** Raised by each fence; older backends are ended. */
  readonly incarnation: number
  /** Why it is of no more use; undefined while it lives. */
  readonly lost: () => Error | undefined
  /** One READ COMMITTED transaction. An error on COMMIT means unknown: the session is lost, run everything again. */
  readonly transaction: <T>(
    work: (tx: Transaction) => Promise<Work<T>>,
    onCommitSent: () => void | Promise<void>,
  ) => Promise<T>
  /** Makes plans anew when they are old. */
  readonly freshenPlans: (elapsedMs: number) => Promise<void>
  readonly close: () => Promise<void>
}

export interface SessionOptions {
  readonly databaseUrl: string
  readonly appId: string
  readonly topic: string
  readonly lane: number
  /** The log's first offset, for a lane that has no row yet. */
  readonly startOffset: number
  /** This process's incarnation before, if it had one. */
  readonly before?: Survived | undefined
  readonly onLost: (error: Error) => void
  readonly onCounted?: ((fences: number) => void) | undefined
  readonly onLetGo?: (() => void) | undefined
  readonly log: Log
  /** How long a statement's answer may take before the connection counts as lost. */
  readonly answerMsMax?: number
  readonly createConnection?: CreateConnection | undefined
}

/**
 * Opens an incarnation's connection: ends the lane's older backends (one that is stuck in a transaction holds locks),
 * counts the fence and reads the lane's row. To be called after the Kafka fence.
 */
export async function openLaneSession(
  options: SessionOptions,
  reach: Reach,
): Promise<{ session: LaneSession; row: LaneRow }> {
  const { appId, topic, lane, startOffset, before } = options
  const connection = await connect(options)
  const { client, lose } = connection
  try {
    const name = `${appId}-lane-${lane}-`
    await client.query(
      'select set_config(name, setting, false) from unnest($1::text[], $2::text[]) s (name, setting)',
      [Object.keys(SETTINGS), Object.values(SETTINGS)],
    )
    // Before the counter is raised, as an older one may hold the row's lock; and after, for those that came between.
    await endOlderBackends(client, name, topic, lane)
    await reach('fence_after_backends')
    const row = await countFence(client, topic, lane, startOffset, before)
    options.onCounted?.(row.fences)
    await client.query(`select set_config('application_name', $1, false), set_config('lock_timeout', $2, false)`, [
      `${name}${row.fences}`,
      LOCK_TIMEOUT,
    ])
    await endOlderBackends(client, name, topic, lane, row.fences)
    return { session: sessionOf(connection, options, { topic, lane, incarnation: row.fences }), row }
  } catch (error) {
    lose(error)
    throw error
  }
}

interface Connection {
  readonly client: OwnConnection
  readonly lose: (reason: unknown) => void
  readonly lost: () => Error | undefined
  readonly close: () => Promise<void>
}

async function connect(options: SessionOptions): Promise<Connection> {
  const { databaseUrl, appId, lane, onLost, log, answerMsMax } = options
  const client = (options.createConnection ?? createConnection)({
    connectionString: databaseUrl,
    application_name: `${appId}-lane-${lane}-new`,
    connectionTimeoutMillis: 10_000,
    query_timeout: answerMsMax ?? ANSWER_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  let loss: Error | undefined
  const lose = (reason: unknown) => {
    if (loss !== undefined) return
    loss = reason instanceof Error ? reason : new Error(String(reason))
    client.end().catch(() => undefined) // Cuts the connection while a statement is unanswered.
    log.warn({ lane, error: describeError(loss) }, 'the lane has lost its Postgres connection')
    onLost(loss)
  }
  client.on('error', lose)
  client.on('end', () => lose(new Error('Connection terminated')))
  await client.connect()
  return {
    client,
    lose,
    lost: () => loss,
    close: async () => {
      loss ??= new Error('Connection terminated: the session was closed')
      await client.end()
    },
  }
}

function sessionOf(
  { client, lose, lost, close }: Connection,
  { appId, onLetGo }: SessionOptions,
  owned: Parameters<typeof letGo>[1],
): LaneSession {
  const { incarnation } = owned
  let plannedAtMs: number | undefined
  let plansMs = PLANS_MS_MIN
  // What fails without a word from the server (no answer in time, a broken socket) leaves the connection unusable.
  const query = (async (config: pg.QueryConfig | string, values?: unknown[]) => {
    try {
      return await client.query(config, values)
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) lose(error)
      throw error
    }
  }) as Queryable['query']
  const tx = { query } as unknown as Transaction
  const rollBack = async () => {
    if (lost() === undefined) await client.query('rollback').catch(lose)
  }

  async function transaction<T>(
    work: (tx: Transaction) => Promise<Work<T>>,
    onCommitSent: () => void | Promise<void>,
  ): Promise<T> {
    await query('begin isolation level read committed')
    let done: Work<T>
    try {
      done = await work(tx)
    } catch (error) {
      await rollBack()
      throw error
    }
    if (!done.commit) {
      await rollBack()
      return done.value
    }
    const answer = client.query('commit') // Never pipelined behind the last statement.
    answer.catch(() => undefined)
    try {
      await onCommitSent()
      const { command } = await answer
      // After an error it answers ROLLBACK without throwing.
      if (command !== 'COMMIT') throw new RolledBack(`COMMIT answered ${command}`)
    } catch (error) {
      lose(error)
      throw error
    }
    return done.value
  }

  return {
    appId,
    incarnation,
    query,
    lost,
    transaction,
    close: async () => {
      // Best effort, and not for long: without it the next owner counts a death.
      if (lost() === undefined) {
        const letting = withDeadline(letGo(client, owned), LET_GO_MS_MAX, 'Letting go of the lane')
        if (await letting.catch(() => false)) onLetGo?.()
      }
      await close()
    },
    freshenPlans: async (elapsedMs) => {
      plannedAtMs ??= elapsedMs
      if (elapsedMs - plannedAtMs < plansMs) return
      plannedAtMs = elapsedMs
      plansMs = Math.min(PLANS_MS_MAX, plansMs * 2)
      await client.query('discard plans')
    },
  }
}

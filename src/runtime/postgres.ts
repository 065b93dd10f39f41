import pg from 'pg'
import type { Log } from './log.ts'
import { describeError } from './log.ts'

declare const open: unique symbol
/** A client between `begin` and `commit`. Only `transaction` makes one, so an effect and its cause cannot part. */
export type Transaction = Pick<pg.ClientBase, 'query'> & { readonly [open]: true }

/** Anything that runs a statement outside a transaction. */
export type Queryable = Pick<pg.ClientBase, 'query'>

/** A connection of one's own, outside of any pool. */
export type OwnConnection = Pick<pg.Client, 'connect' | 'query' | 'end' | 'on'>
/** Nothing is sent before its `connect`. */
export type CreateConnection = (config: pg.ClientConfig) => OwnConnection
export const createConnection: CreateConnection = (config) => new pg.Client(config)

/** COMMIT answers ROLLBACK without throwing when the transaction had failed. */
export class RolledBack extends Error {
  override readonly name = 'RolledBack'
}

/** In milliseconds. */
export interface PoolLimits {
  readonly connectMs?: number
  readonly statementMs?: number
  readonly lockMs?: number
  /** In a transaction, between two statements. */
  readonly idleMs?: number
  /** How long an answer is waited for here; it also ends the wait for a server that is frozen. */
  readonly answerMs?: number
}

/** A pool for the api and the tools; a lane has a connection of its own (`lane-session.ts`). */
export function createPool(
  connectionString: string,
  applicationName: string,
  log: Log,
  max = 10,
  { connectMs = 10_000, statementMs = 30_000, lockMs = 10_000, idleMs = 30_000, answerMs }: PoolLimits = {},
): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max,
    application_name: applicationName,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: idleMs,
    lock_timeout: lockMs,
    ...(answerMs === undefined ? {} : { query_timeout: answerMs }),
  })
  // Without a listener a lost idle connection ends the process (node-postgres #3202).
  pool.on('error', (error) => log.warn({ error: describeError(error) }, 'idle Postgres connection lost'))
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** Where a test may end the process: `commit_sent` is when nobody knows, `after_commit` when nobody was told. */
export type TransactionStep = 'before_begin' | 'before_commit' | 'commit_sent' | 'after_commit'
export type OnStep<Step> = (step: Step) => void | Promise<void>
export const noSteps = () => undefined

/** Runs `work` in one READ COMMITTED transaction on a pooled connection; any error rolls back and is thrown on. */
export async function transaction<T>(
  pool: pg.Pool,
  work: (tx: Transaction) => Promise<T>,
  onStep: OnStep<TransactionStep> = noSteps,
): Promise<T> {
  await onStep('before_begin')
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    return await transactionOn(client, work, onStep)
  } catch (error) {
    broken = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    client.release(broken !== undefined && !('severity' in broken) && !(broken instanceof RolledBack))
  }
}

/** Reads on a connection that the caller owns as everything stood at one moment; nothing can be written. */
export async function snapshotOn<T>(client: pg.ClientBase, work: (tx: Transaction) => Promise<T>): Promise<T> {
  await client.query('begin isolation level repeatable read, read only')
  try {
    return await work(client as unknown as Transaction)
  } finally {
    await client.query('rollback')
  }
}

/** The same on a connection that the caller owns. */
export async function transactionOn<T>(
  client: pg.ClientBase,
  work: (tx: Transaction) => Promise<T>,
  onStep: OnStep<TransactionStep> = noSteps,
): Promise<T> {
  await client.query('begin isolation level read committed')
  let result: T
  try {
    result = await work(client as unknown as Transaction)
    await onStep('before_commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
  // Never pipelined behind the last statement, and its tag is looked at.
  const answer = client.query('commit')
  answer.catch(() => undefined) // Awaited below, if the step does not throw.
  await onStep('commit_sent')
  const { command } = await answer
  if (command !== 'COMMIT') throw new RolledBack(`COMMIT answered ${command}`)
  await onStep('after_commit')
  return result
}

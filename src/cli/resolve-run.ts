import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Refusal } from '../orders/decision.ts'
import type { Resolution } from '../orders/model.ts'
import { allowedResolutions } from '../orders/resolve.ts'
import { sayRefusal } from '../orders/say-refusal.ts'
import { fileCommand } from '../store/file-command.ts'
import { readCommands, type Command } from '../store/read-commands.ts'
import { resolveCommand } from '../store/resolve-command.ts'
import type { ChosenAnomaly } from './choose-anomalies.ts'

/** One answer for many anomalies. */
export interface ResolveRun {
  /** When it began, and something of its own: the same run asks with the same keys, however often it is started. */
  readonly run: string
  readonly resolution: Resolution
  readonly reason: string
  readonly actor: string
}

export const RUN = /^([0-9a-z]{8,9})-[0-9a-f]{8}$/
export const newRun = (nowMs: number) => `${nowMs.toString(36)}-${randomBytes(4).toString('hex')}`
/** A run is about what was open when it began, so that it is done at some time. */
export const runStartMs = (run: string) => Number.parseInt(RUN.exec(run)?.[1] ?? '', 36)

/** What became of one of them. */
export type Answered =
  | { readonly id: number; readonly result: 'resolved' }
  | { readonly id: number; readonly result: 'refused'; readonly reason: string; readonly detail: string }
  /** Its lane has not answered, or nothing was asked any more after one did not. */
  | { readonly id: number; readonly result: 'pending' }

/** What is plain without asking: the lane decides all the same, under the order's lock. */
export function plainRefusal(anomaly: ChosenAnomaly, { resolution, actor }: ResolveRun): Refusal | undefined {
  if (anomaly.owner !== null && anomaly.owner !== actor) return { reason: 'claimed', owner: anomaly.owner }
  const allowed = allowedResolutions(anomaly.orderStatus, anomaly)
  return allowed.includes(resolution) ? undefined : { reason: 'not_allowed', anomaly: anomaly.kind, allowed }
}

/** As many as a lane takes in one wake, about; a run that is stopped has so many on their way. */
const CHUNK = 100
const LOOK_MS = 50

/**
 * Files the answers a hundred at a time and waits for the lanes. Started again it does nothing twice.
 * @param waitMs how long a hundred may take; what is not answered by then is pending, and nothing more is filed
 */
export async function answerAll(
  pool: pg.Pool,
  appId: string,
  anomalies: readonly ChosenAnomaly[],
  asked: ResolveRun & { readonly waitMs: number; readonly onProgress: (answered: readonly Answered[]) => void },
): Promise<Answered[]> {
  const answered: Answered[] = []
  for (let from = 0; from < anomalies.length; from += CHUNK) {
    const chunk = anomalies.slice(from, from + CHUNK)
    const isStuck = answered.some(({ result }) => result === 'pending')
    answered.push(...(isStuck ? chunk.map(({ id }) => pending(id)) : await answerChunk(pool, appId, chunk, asked)))
    if (!isStuck) asked.onProgress(answered)
  }
  return answered
}

async function answerChunk(
  pool: pg.Pool,
  appId: string,
  chunk: readonly ChosenAnomaly[],
  asked: ResolveRun & { readonly waitMs: number },
): Promise<Answered[]> {
  const answered: Answered[] = []
  const waiting = new Map<number, number>()
  const hear = (id: number, command: Command) => {
    if (command.status === 'pending') {
      waiting.set(command.id, id)
      return
    }
    waiting.delete(command.id)
    answered.push(answerOf(id, command))
  }
  for (const anomaly of chunk) {
    const { id } = anomaly
    const plain = plainRefusal(anomaly, asked)
    if (plain !== undefined) {
      answered.push(refused(id, plain))
      continue
    }
    const filed = await fileCommand(
      pool,
      appId,
      resolveCommand(anomaly, { ...asked, idempotencyKey: `run:${asked.run}:${id}` }),
    )
    if (filed.kind === 'filed') hear(id, filed.command)
    else if (filed.kind === 'unknown_order' || filed.kind === 'archived')
      answered.push(refused(id, { reason: 'unknown_anomaly' }))
    else answered.push({ id, result: 'refused', reason: filed.kind, detail: 'The run answered it otherwise before.' })
  }
  for (const untilMs = performance.now() + asked.waitMs; waiting.size > 0 && performance.now() < untilMs;) {
    await delay(LOOK_MS)
    for (const command of await readCommands(pool, [...waiting.keys()])) hear(waiting.get(command.id) ?? 0, command)
  }
  return [...answered, ...[...waiting.values()].map(pending)]
}

function answerOf(id: number, { status, result }: Command): Answered {
  const outcome = result as { kind?: unknown; refusal?: Refusal } | null
  if (status === 'done' && outcome?.kind === 'done') return { id, result: 'resolved' }
  if (status === 'done' && outcome?.refusal !== undefined) return refused(id, outcome.refusal)
  return { id, result: 'refused', reason: 'failed', detail: 'The lane could not decide about it; it changed nothing.' }
}

const pending = (id: number): Answered => ({ id, result: 'pending' })
const refused = (id: number, refusal: Refusal): Answered => ({
  ...{ id, result: 'refused', reason: refusal.reason, detail: sayRefusal(refusal).detail },
})

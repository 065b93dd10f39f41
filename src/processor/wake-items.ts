import type { Decision, Item, Outcome } from '../orders/decision.ts'
import { RESOLUTIONS, type Resolution } from '../orders/model.ts'
import type { WorkItem } from '../store/read-work.ts'
import type { FinishedCommand, OperatorAction } from '../store/write-batch.ts'

/** A work item; `guilty` once Postgres has refused it: it is then put away instead of done. */
export interface Task extends WorkItem {
  readonly guilty: string | undefined
}

/** What the decision is asked; undefined: nothing, the task is only put away. */
export function itemOf(task: Task): Item | undefined {
  const { id, orderId, kind, ref, guilty } = task
  if (guilty !== undefined) {
    // A person who filed a command reads that it failed; a timer or release has nobody who would.
    if (kind === 'close' || kind === 'resolve') return undefined
    return { kind: 'unprocessable', orderId, cause: kind === 'held_limit' ? `${kind}/${ref}` : kind, detail: guilty }
  }
  switch (kind) {
    case 'wake':
      return { kind: 'release', orderId }
    case 'close':
      return { kind: 'close', orderId, commandId: id }
    case 'expiry':
      return { kind: 'expire', orderId, timerId: id }
    case 'held_limit':
      return { kind: 'held_limit', orderId, timerId: id, ref }
    case 'resolve': {
      const answer = answerOf(task)
      return answer === undefined ? undefined : { kind: 'resolve', orderId, commandId: id, ...answer }
    }
  }
}

interface Answer {
  readonly anomalyId: number
  readonly resolution: Resolution
  readonly reason: string
  readonly actor: string
}

/** Undefined: not what `file-command.ts` files. */
function answerOf({ body, actor }: Pick<Task, 'body' | 'actor'>): Answer | undefined {
  const { anomalyId, resolution, reason } = JSON.parse(body) as Record<string, unknown>
  const known = RESOLUTIONS.find((name) => name === resolution)
  if (typeof anomalyId !== 'number' || known === undefined || actor === null) return undefined
  if (typeof reason !== 'string' || reason.trim() === '') return undefined
  return { anomalyId, resolution: known, reason, actor }
}

/** What operators did: a row for each anomaly that a command of these resolved, and none for one that came second. */
export function actionsOf(tasks: readonly Task[], { resolvedAnomalies }: Decision): OperatorAction[] {
  return resolvedAnomalies.flatMap(({ id, orderId, kind, cause, resolution, reason, by }) => {
    if (by === null || reason === null) return []
    // The first one: a second one with the same answer by the same person found it resolved.
    const command = tasks.find((task) => {
      const answer = task.kind === 'resolve' ? answerOf(task) : undefined
      return answer?.anomalyId === id && answer.resolution === resolution && answer.actor === by
    })
    const target = { anomalyId: id, orderId, kind, cause, resolution, commandId: command?.id }
    return { actor: by, action: 'anomaly_resolve', target: JSON.stringify(target), reason }
  })
}

/** What whoever filed the command is told. @param outcome undefined: its order is gone, or the task is guilty */
export function resultOf({ id, guilty, kind }: Task, outcome: Outcome | undefined): FinishedCommand {
  if (guilty !== undefined) return { id, status: 'failed', result: JSON.stringify({ kind: 'failed', detail: guilty }) }
  if (outcome !== undefined) return { id, status: 'done', result: JSON.stringify(outcome) }
  const reason = kind === 'resolve' ? 'unknown_anomaly' : 'unknown_order'
  return { id, status: 'done', result: JSON.stringify({ kind: 'refused', status: null, refusal: { reason } }) }
}

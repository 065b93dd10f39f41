import type { CommandRequest, Filed } from '../store/file-command.ts'
import type { CommandWaiter } from './await-command.ts'
import { answerOf } from './command-answer.ts'
import { KEY_REUSED } from './idempotency-key.ts'
import type { ApiReach } from './crash-points.ts'
import type { ApiMetrics } from './metrics.ts'
import { NOT_FOUND } from './policy.ts'
import type { Refusal, RefusalKind } from './refusal.ts'
import { refuse, type ApiAnswer } from './route.ts'

export interface CommandDeps {
  readonly fileCommand: (request: CommandRequest) => Promise<Filed>
  readonly waiter: Pick<CommandWaiter, 'wait'>
  readonly waitMs: number
  readonly metrics: ApiMetrics
  readonly reach: ApiReach
}

/** What may come of any command, beside what every route may refuse. */
export const COMMAND_REFUSALS: readonly RefusalKind[] = [
  'not_found',
  'order_archived',
  'command_refused',
  'idempotency_key_reused',
  'command_failed',
]

const ARCHIVED: Refusal = {
  kind: 'order_archived',
  detail: 'The order is finished and archived: nothing moves it any more.',
}

/** Files a command for the order's lane, which alone decides, and waits a moment for what it says. */
export async function runCommand(request: CommandRequest, deps: CommandDeps): Promise<ApiAnswer> {
  const filed = await deps.fileCommand(request)
  if (filed.kind === 'unknown_order') return refuse(NOT_FOUND)
  if (filed.kind === 'archived') return refuse(ARCHIVED)
  if (filed.kind === 'key_reused') return refuse(KEY_REUSED)
  const { command } = filed
  const waiting = command.status === 'pending' ? deps.waiter.wait(command.id, deps.waitMs) : command
  await deps.reach('command_waiting')
  const finished = await waiting
  const { outcome, ...answer } = answerOf(finished ?? command)
  deps.metrics.commands.inc({ kind: request.kind, outcome })
  return answer
}

import { z } from 'zod'
import type { Refusal } from '../orders/decision.ts'
import { sayRefusal } from '../orders/say-refusal.ts'
import type { Command } from '../store/read-commands.ts'
import { commandView } from '../store/order-view.ts'
import { refuse, type ApiAnswer } from './route.ts'

/** What the lane writes as a command's result: its outcome. */
const Result = z.union([
  z.object({ kind: z.literal('done'), status: z.string() }),
  z.object({
    kind: z.literal('refused'),
    status: z.string().nullable(),
    refusal: z.looseObject({ reason: z.string() }),
  }),
])

export const locationOf = (command: Command) => `/v1/commands/${command.id}`

/** The same command, asked about now or later, gets the same answer. */
export function answerOf(command: Command): ApiAnswer & { readonly outcome: string } {
  const headers = { location: locationOf(command) }
  const body = commandView(command)
  if (command.status === 'pending')
    return { kind: 'answer', outcome: 'pending', status: 202, body, headers: { ...headers, 'retry-after': '1' } }
  const result = Result.safeParse(command.result)
  if (command.status === 'failed' || !result.success)
    return {
      ...refuse({
        kind: 'command_failed',
        detail: `Command ${command.id} could not be decided.`,
        remedy: 'Tell the operator its number; it changed nothing.',
      }),
      outcome: 'failed',
    }
  if (result.data.kind === 'done') return { kind: 'answer', outcome: 'done', status: 200, body, headers }
  // The union is ours: the lane wrote it.
  const refusal = result.data.refusal as unknown as Refusal
  return { ...refuse({ kind: 'command_refused', reason: refusal.reason, ...sayRefusal(refusal) }), outcome: 'refused' }
}

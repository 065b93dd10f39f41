import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { CommandRequest, Filed } from '../store/file-command.ts'
import type { CommandWaiter } from './await-command.ts'
import { answerOf } from './command-answer.ts'
import type { ApiMetrics } from './metrics.ts'
import { fieldRefusal } from './order-body.ts'
import { maySee, NOT_FOUND } from './policy.ts'
import { isKey } from './read-order-route.ts'
import type { Refusal } from './refusal.ts'
import { refuse, type ApiRequest, type Route } from './route.ts'

export interface CloseDeps {
  readonly fileCommand: (request: CommandRequest) => Promise<Filed>
  readonly waiter: Pick<CommandWaiter, 'wait'>
  readonly waitMs: number
  readonly metrics: ApiMetrics
}

const CloseBody = z.strictObject({
  reason: z
    .string()
    .max(256, 'must be at most 256 characters')
    .refine((text) => text.isWellFormed() && !text.includes('\u0000'), 'must be well-formed text without NUL')
    .optional(),
})
const KEY = /^[\x21-\x7e]{1,128}$/
const BAD_KEY: Refusal = {
  kind: 'invalid_field',
  field: 'Idempotency-Key',
  detail: 'Idempotency-Key must be 1 to 128 printable ASCII characters without spaces.',
  remedy: 'Send a new UUID with each new command, and the same one when you send the command again.',
}
const KEY_REUSED: Refusal = {
  kind: 'idempotency_key_reused',
  field: 'Idempotency-Key',
  detail: 'Idempotency-Key was used for another command of this merchant.',
  remedy: 'Send a new key with a new command.',
}

/** Files a close for the order's lane, which alone decides, and waits a moment for what it says. */
export const closeOrderRoute = (deps: CloseDeps): Route => ({
  method: 'post',
  path: '/v1/orders/:merchant/:outTradeNo/close',
  action: 'close_order',
  handle: async (request) => {
    const asked = readClose(request)
    if (asked.kind === 'refused') return refuse(asked.refusal)
    const filed = await deps.fileCommand(asked.command)
    if (filed.kind === 'unknown_order') return refuse(NOT_FOUND)
    if (filed.kind === 'key_reused') return refuse(KEY_REUSED)
    const { command } = filed
    const finished = command.status === 'pending' ? await deps.waiter.wait(command.id, deps.waitMs) : command
    const { outcome, ...answer } = answerOf(finished ?? command)
    deps.metrics.commands.inc({ kind: 'close', outcome })
    return answer
  },
})

type Asked =
  { readonly kind: 'close'; readonly command: CommandRequest } | { readonly kind: 'refused'; readonly refusal: Refusal }

function readClose({ params, header, principal, body }: ApiRequest): Asked {
  const { merchant = '', outTradeNo = '' } = params
  if (!maySee(principal, merchant) || !isKey(merchant) || !isKey(outTradeNo))
    return { kind: 'refused', refusal: NOT_FOUND }
  const idempotencyKey = header('idempotency-key') ?? ''
  if (!KEY.test(idempotencyKey)) return { kind: 'refused', refusal: BAD_KEY }
  const parsed = CloseBody.safeParse(body.value)
  if (!parsed.success) return { kind: 'refused', refusal: fieldRefusal(parsed.error, body.value) }
  const { reason = null } = parsed.data
  const bodyHash = createHash('sha256')
    .update(JSON.stringify(['close', merchant, outTradeNo, reason]))
    .digest()
  return {
    kind: 'close',
    command: {
      ...{ kind: 'close', merchant, outTradeNo, idempotencyKey, bodyHash, actor: principal.name },
      body: JSON.stringify(reason === null ? {} : { reason }),
    },
  }
}

import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { CommandRequest } from '../store/file-command.ts'
import { readIdempotencyKey } from './idempotency-key.ts'
import { fieldRefusal } from './order-body.ts'
import { maySee, NOT_FOUND } from './policy.ts'
import { isKey } from './read-order-route.ts'
import type { Refusal } from './refusal.ts'
import { COMMAND } from './order-schemas.ts'
import { refuse, type ApiRequest, type Route } from './route.ts'
import { COMMAND_REFUSALS, runCommand, type CommandDeps } from './run-command.ts'

const CloseBody = z.strictObject({
  reason: z
    .string()
    .max(256, 'must be at most 256 characters')
    .refine((text) => text.isWellFormed() && !text.includes('\u0000'), 'must be well-formed text without NUL')
    .optional(),
})

/** Files a close for the order's lane, which alone decides, and waits a moment for what it says. */
export const closeOrderRoute = (deps: CommandDeps): Route => ({
  method: 'post',
  path: '/v1/orders/:merchant/:outTradeNo/close',
  action: 'close_order',
  doc: {
    id: 'closeOrder',
    summary: 'Closes an order, as its lane decides. 202: the lane has not answered yet.',
    body: CloseBody,
    key: 'required',
    location: true,
    answers: { 200: COMMAND, 202: COMMAND },
    refusals: COMMAND_REFUSALS,
  },
  handle: async (request) => {
    const asked = readClose(request)
    if (asked.kind === 'refused') return refuse(asked.refusal)
    return runCommand(asked.command, deps)
  },
})

type Asked =
  { readonly kind: 'close'; readonly command: CommandRequest } | { readonly kind: 'refused'; readonly refusal: Refusal }

function readClose({ params, header, principal, body }: ApiRequest): Asked {
  const { merchant = '', outTradeNo = '' } = params
  if (!maySee(principal, merchant) || !isKey(merchant) || !isKey(outTradeNo))
    return { kind: 'refused', refusal: NOT_FOUND }
  const key = readIdempotencyKey(header)
  if (key.kind === 'refused') return key
  const parsed = CloseBody.safeParse(body.value)
  if (!parsed.success) return { kind: 'refused', refusal: fieldRefusal(parsed.error, body.value) }
  const { reason = null } = parsed.data
  const bodyHash = createHash('sha256')
    .update(JSON.stringify(['close', merchant, outTradeNo, reason]))
    .digest()
  return {
    kind: 'close',
    command: {
      ...{ kind: 'close', merchant, outTradeNo, idempotencyKey: key.key, bodyHash, actor: principal.name },
      body: JSON.stringify(reason === null ? {} : { reason }),
    },
  }
}

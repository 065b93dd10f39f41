import { z } from 'zod'
import { RESOLUTIONS } from '../orders/model.ts'
import { resolveCommand } from '../store/resolve-command.ts'
import { readIdempotencyKey } from './idempotency-key.ts'
import { fieldRefusal } from './order-body.ts'
import { NOT_FOUND } from './policy.ts'
import { findOwn, type AnomalyDeps } from './read-anomalies-route.ts'
import { COMMAND } from './order-schemas.ts'
import { refuse, type Route } from './route.ts'
import { COMMAND_REFUSALS, runCommand, type CommandDeps } from './run-command.ts'
import { reason } from './shared-fields.ts'

const ResolveBody = z.strictObject({
  resolution: z.enum(RESOLUTIONS, `must be one of ${RESOLUTIONS.join(', ')}`),
  reason,
})

/** An operator's answer: filed for the order's lane, which alone decides whether it counts. */
export const resolveAnomalyRoute = (deps: CommandDeps & Pick<AnomalyDeps, 'findAnomaly'>): Route => ({
  method: 'post',
  path: '/v1/anomalies/:id/resolve',
  action: 'resolve_anomaly',
  doc: {
    id: 'resolveAnomaly',
    summary: "An operator's answer, about which the order's lane decides. 202: the lane has not answered yet.",
    body: ResolveBody,
    key: 'required',
    location: true,
    answers: { 200: COMMAND, 202: COMMAND },
    refusals: COMMAND_REFUSALS,
  },
  handle: async (request) => {
    const anomaly = await findOwn(deps.findAnomaly, request)
    if (anomaly === undefined) return refuse(NOT_FOUND)
    const key = readIdempotencyKey(request.header)
    if (key.kind === 'refused') return refuse(key.refusal)
    const parsed = ResolveBody.safeParse(request.body.value)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, request.body.value))
    const answer = { ...parsed.data, actor: request.principal.name, idempotencyKey: key.key }
    return runCommand(resolveCommand(anomaly, answer), deps)
  },
})

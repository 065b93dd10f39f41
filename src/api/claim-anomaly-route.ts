import { z } from 'zod'
import { sayRefusal } from '../orders/say-refusal.ts'
import { anomalyView } from '../store/anomaly-view.ts'
import type { Claimed, ClaimRequest } from '../store/claim-anomaly.ts'
import type { ApiMetrics } from './metrics.ts'
import { ANOMALY } from './anomaly-schema.ts'
import { fieldRefusal } from './order-body.ts'
import { NOT_FOUND } from './policy.ts'
import { findOwn, type AnomalyDeps } from './read-anomalies-route.ts'
import { refuse, type ApiAnswer, type ApiRequest, type Route } from './route.ts'
import { remark } from './shared-fields.ts'

export interface ClaimDeps extends Pick<AnomalyDeps, 'findAnomaly'> {
  readonly claimAnomaly: (request: ClaimRequest) => Promise<Claimed>
  readonly releaseAnomaly: (request: ClaimRequest & { readonly from?: string }) => Promise<Claimed>
  readonly metrics: ApiMetrics
}

const ClaimBody = z.strictObject({ reason: remark.default('') })
const ReleaseBody = z
  .strictObject({ reason: remark.default(''), owner: z.string().min(1).max(500).optional() })
  .refine(({ owner, reason }) => owner === undefined || reason.trim() !== '', {
    path: ['reason'],
    error: "must say why somebody else's claim is released",
  })

/** Whoever claims an anomaly works on it: nobody else answers it meanwhile. */
export const claimAnomalyRoute = (deps: ClaimDeps): Route => ({
  method: 'post',
  path: '/v1/anomalies/:id/claim',
  action: 'claim_anomaly',
  doc: {
    id: 'claimAnomaly',
    summary: 'Whoever claims an anomaly works on it.',
    body: ClaimBody,
    answers: { 200: ANOMALY },
    refusals: ['not_found', 'command_refused', 'order_busy'],
  },
  handle: (request) => change(request, deps, 'claim', ClaimBody, deps.claimAnomaly),
})

/** Gives one's own claim back, or takes away that of the `owner` who is named. */
export const releaseAnomalyRoute = (deps: ClaimDeps): Route => ({
  method: 'post',
  path: '/v1/anomalies/:id/release',
  action: 'claim_anomaly',
  doc: {
    id: 'releaseAnomaly',
    summary: 'Gives a claim back, or takes that of the owner who is named.',
    body: ReleaseBody,
    answers: { 200: ANOMALY },
    refusals: ['not_found', 'command_refused', 'order_busy'],
  },
  handle: (request) =>
    change(request, deps, 'release', ReleaseBody, ({ owner: from, ...asked }) =>
      deps.releaseAnomaly({ ...asked, ...(from === undefined ? {} : { from }) }),
    ),
})

async function change<Body extends { readonly reason: string }>(
  request: ApiRequest,
  { findAnomaly, metrics }: ClaimDeps,
  kind: 'claim' | 'release',
  body: z.ZodType<Body>,
  run: (asked: ClaimRequest & Body) => Promise<Claimed>,
): Promise<ApiAnswer> {
  const before = await findOwn(findAnomaly, request)
  if (before === undefined) return refuse(NOT_FOUND)
  const parsed = body.safeParse(request.body.value)
  if (!parsed.success) return refuse(fieldRefusal(parsed.error, request.body.value))
  const { id } = before
  const claimed = await run({ ...parsed.data, id, actor: request.principal.name })
  metrics.commands.inc({ kind, outcome: claimed.kind })
  if (claimed.kind === 'refused') {
    const { refusal } = claimed
    if (refusal.reason === 'unknown_anomaly') return refuse(NOT_FOUND)
    return refuse({ kind: 'command_refused', reason: refusal.reason, ...sayRefusal(refusal) })
  }
  const after = await findAnomaly(id)
  return after === undefined ? refuse(NOT_FOUND) : { kind: 'answer', status: 200, body: anomalyView(after) }
}

import { z } from 'zod'
import { ANOMALY_KINDS } from '../orders/model.ts'
import { anomalyView } from '../store/anomaly-view.ts'
import type { Anomaly, AnomalyFilter } from '../store/list-anomalies.ts'
import { ANOMALIES, ANOMALY } from './anomaly-schema.ts'
import { fieldRefusal, merchant } from './order-body.ts'
import { maySee, NOT_FOUND, type Principal } from './policy.ts'
import { refuse, type ApiRequest, type Route } from './route.ts'
import { ID, PAGE, time, whole } from './shared-fields.ts'

export interface AnomalyDeps {
  readonly listAnomalies: (filter: AnomalyFilter, page: { after?: number; limit: number }) => Promise<Anomaly[]>
  readonly findAnomaly: (id: number) => Promise<Anomaly | undefined>
  readonly now: () => Date
}

const Query = z.object({
  state: z.enum(['open', 'resolved', 'all'], 'must be open, resolved or all').default('open'),
  merchant: merchant.optional(),
  kind: z.enum(ANOMALY_KINDS, `must be one of ${ANOMALY_KINDS.join(', ')}`).optional(),
  owner: z.string().min(1).max(500, 'must be at most 500 characters').optional(),
  claimed: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((text) => text === 'true')
    .optional(),
  /** Opened at least that long ago. */
  older_than_sec: whole(1, 315_360_000).optional(),
  since: time.optional(),
  until: time.optional(),
  ...PAGE,
})

export const listAnomaliesRoute = ({ listAnomalies, now }: AnomalyDeps): Route => ({
  method: 'get',
  path: '/v1/anomalies',
  action: 'read_anomaly',
  query: Query,
  doc: {
    id: 'listAnomalies',
    summary: 'What a person must look at: open ones oldest first, any others newest first.',
    answers: { 200: ANOMALIES },
  },
  handle: async ({ query, principal }) => {
    const parsed = Query.safeParse(query)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, query))
    const { limit, cursor: after, ...filters } = parsed.data
    // Of another merchant there is nothing to see, as with an order.
    const found = maySee(principal, filters.merchant ?? principal.merchant)
      ? await listAnomalies(filterOf(filters, principal, now().getTime()), {
          limit: limit + 1,
          ...(after === undefined ? {} : { after }),
        })
      : []
    const page = found.slice(0, limit)
    const next = found.length > limit ? String(page.at(-1)?.id) : null
    return { kind: 'answer', status: 200, body: { anomalies: page.map(anomalyView), next } }
  },
})

type Filters = Omit<z.output<typeof Query>, 'limit' | 'cursor'>

function filterOf({ since, until, older_than_sec, claimed, ...same }: Filters, principal: Principal, nowMs: number) {
  const olderMs = older_than_sec === undefined ? Infinity : nowMs - older_than_sec * 1_000
  const untilMs = Math.min(until ?? Infinity, olderMs)
  return {
    ...same,
    merchant: same.merchant ?? principal.merchant ?? undefined,
    isClaimed: claimed,
    sinceMs: since,
    untilMs: untilMs === Infinity ? undefined : untilMs,
  }
}

export const readAnomalyRoute = ({ findAnomaly }: AnomalyDeps): Route => ({
  method: 'get',
  path: '/v1/anomalies/:id',
  action: 'read_anomaly',
  doc: { id: 'readAnomaly', summary: 'One anomaly.', answers: { 200: ANOMALY }, refusals: ['not_found'] },
  handle: async (request) => {
    const anomaly = await findOwn(findAnomaly, request)
    return anomaly === undefined ? refuse(NOT_FOUND) : { kind: 'answer', status: 200, body: anomalyView(anomaly) }
  },
})

/** Undefined too where it is another merchant's. */
export async function findOwn(
  find: AnomalyDeps['findAnomaly'],
  { params, principal }: Pick<ApiRequest, 'params' | 'principal'>,
): Promise<Anomaly | undefined> {
  const id = params['id'] ?? ''
  const anomaly = ID.test(id) ? await find(Number(id)) : undefined
  return anomaly !== undefined && maySee(principal, anomaly.merchant) ? anomaly : undefined
}

import type { QueryAnswer, QueryClient, QueryClients, QueryTarget } from '../../src/providers/query.ts'
import { readReconcilerConfig } from '../../src/reconcile/config.ts'
import { startReconciler, type ReconcilerDeps, type RunningReconciler } from '../../src/reconcile/start.ts'
import { createLog } from '../../src/runtime/log.ts'
import { AMOUNT_MINOR, MERCHANT, payment, type Installation } from './installation.ts'

/** A minute is 300 ms, so that an hour of a schedule is a test's few seconds. */
export const QUICK = {
  ...{
    QUERY_FIRST_MS: '300',
    QUERY_SPREAD_MS: '150',
    QUERY_LAST_MS: '9000',
    QUERY_SWEEP_MS: '50',
    QUERY_LOOK_MS: '50',
  },
  ...{ QUERY_ANSWER_MS_MAX: '2000', QUERY_PUBLISH_MS_MAX: '5000' },
}

export function startTestReconciler(
  installation: Installation,
  clients: QueryClients,
  more: Readonly<Record<string, string>> = {},
  deps: Partial<ReconcilerDeps> = {},
): Promise<RunningReconciler> {
  const dirs = { MERCHANTS_DIR: '/none', QUERY_KEYS_DIR: '/none' }
  const config = readReconcilerConfig(installation.env({ ...QUICK, ...dirs, METRICS_PORT: '0', ...more }))
  const log = createLog('reconcile', process.env['LOG_LEVEL'] ?? 'error')
  return startReconciler(config, { log, clients, ...deps })
}

export interface FakeClient extends QueryClient {
  readonly asked: QueryTarget[]
}

/** Answers by a function, for what is about when somebody is asked, and not about how. */
export function fakeClient(answer: (target: QueryTarget, n: number) => QueryAnswer | Promise<QueryAnswer>): FakeClient {
  const asked: QueryTarget[] = []
  return { asked, ask: async (target) => answer(target, asked.push(target)) }
}
export const clientsOf = (providers: Readonly<Record<string, QueryClient>>, merchant = MERCHANT): QueryClients =>
  new Map([[merchant, new Map(Object.entries(providers))]])

/** What a provider says of an order that is paid: the fact of which `payment()` is the callback. */
export function paidAnswer({ outTradeNo }: QueryTarget, amountMinor = AMOUNT_MINOR): QueryAnswer {
  const { facts } = payment(outTradeNo, { amountMinor }).callback
  const message = { outTradeNo, messageType: 'SUCCESS', messageId: '', facts }
  return { kind: 'answered', messages: [message], rawBody: Buffer.from('{}'), rawHeaders: {} }
}
export const NOT_PAID: QueryAnswer = { kind: 'answered', messages: [], rawBody: Buffer.from('{}'), rawHeaders: {} }

import type { QueryClient } from '../providers/query.ts'
import type { LeasedQuery } from '../store/lease-queries.ts'
import { PAYMENT_REF } from '../store/file-queries.ts'
import type { Settlement } from '../store/settle-query.ts'
import { askAll, targetOf, whomToAsk, type AskDeps, type Told } from './ask.ts'
import type { QueryReach } from './crash-points.ts'
import type { Learnt, Published } from './publish.ts'
import { afterHint, afterPayment, type Next, type Schedule } from './schedule.ts'

export interface AnswerDeps extends AskDeps {
  readonly schedule: Schedule
  readonly publish: (learnt: readonly Learnt[]) => Promise<Published>
  readonly reach: QueryReach
  readonly random?: () => number
}

/**
 * Asks what is leased, if its order needs it still, and publishes what is learnt.
 * @param signal aborted: the process stops; what is not published by then is due at once for another
 * @throws what publishing throws: nothing is settled, and it is due again when its lease ends
 */
export async function answerQuery(
  query: LeasedQuery,
  clients: ReadonlyMap<string, QueryClient>,
  signal: AbortSignal,
  deps: AnswerDeps,
): Promise<{ readonly settlement: Settlement; readonly gaveUp?: boolean }> {
  const { order, ref } = query
  const { schedule, clock, reach } = deps
  if (order === undefined || !isNeeded(query)) return { settlement: { kind: 'remove' } }
  const lookAtMs = () => clock.now().getTime() + schedule.lookMs
  if (query.isDone) return { settlement: { kind: 'later', dueAtMs: lookAtMs() } }
  // What a provider says is as old as the question, however long it takes to say it.
  const sinceMs = clock.now().getTime()
  const told = await askAll(query.merchant, whomToAsk(clients, ref), targetOf(order.outTradeNo, ref), signal, deps)
  await reach('query_answered')
  if (told.learnt.length > 0) {
    const published = await deps.publish(told.learnt)
    if (published.kind === 'too_large')
      return {
        settlement: settlementOf(
          query,
          { ...told, outcome: 'failed', answer: `too large: ${published.bytes} bytes` },
          sinceMs,
          deps,
        ).settlement,
      }
    await reach('query_published')
  } else if (signal.aborted) return { settlement: { kind: 'later', dueAtMs: clock.now().getTime() } }
  return settlementOf(query, told, sinceMs, deps)
}

/** An order that is paid, closed or refunded, and holds no fact, has nothing to ask. */
function isNeeded({ order, ref }: LeasedQuery): boolean {
  return ref !== PAYMENT_REF || order?.status === 'pending' || (order?.heldCount ?? 0) > 0
}

function settlementOf(
  query: LeasedQuery,
  told: Told,
  sinceMs: number,
  { schedule, clock, random = Math.random }: AnswerDeps,
) {
  const nowMs = clock.now().getTime()
  const asked = { attempts: query.attempts + 1, outcome: told.outcome, sinceMs, nowMs, afterMs: told.afterMs }
  const settle = (next: Next) => ({ kind: next.kind, dueAtMs: next.dueAtMs, askedAtMs: nowMs, answer: told.answer })
  if (query.ref !== PAYMENT_REF) {
    const next = afterHint(schedule, asked, random())
    // A hint that nobody confirms proves nothing: it is counted, and stays in the order's history.
    if (next?.kind !== 'again') return { settlement: { kind: 'remove' } as const, gaveUp: next !== null }
    return { settlement: settle(next) }
  }
  const { createdAtMs = 0, expiresAtMs = null, status } = query.order ?? {}
  const next = afterPayment(schedule, { createdAtMs, expiresAtMs, isPending: status === 'pending' }, asked, random())
  return { settlement: settle(next), gaveUp: next.kind === 'done' && next.gaveUp }
}

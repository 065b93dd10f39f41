import { eventId } from '../../orders/identity.ts'
import type { EventKind } from '../../orders/model.ts'
import { NOTICE_TOPIC, type Routes } from '../../orders/routes.ts'
import type { AuditedEvent, AuditedOrder } from './audited-order.ts'
import { expectationsOf, type Expectation, type Money } from './expectation.ts'
import { NAMELESS, type Finding, type FindingKind } from './finding.ts'
import { judgeMoney } from './judge-money.ts'
import { judgeSequence } from './judge-sequence.ts'

/** What an event should be, before anybody looked whether it is there. */
interface Due {
  readonly cause: string
  readonly kind: string
  readonly topic: string
  readonly money: Money | null
}

/**
 * Whether an order's rows agree: each of its facts, answers and anomalies has the events that it must have sent, each
 * once, with its money, and no event is there without a cause.
 * @param keptSinceMs events from before it may be dropped already; undefined: all are kept
 */
export function judgeOrder(order: AuditedOrder, routes: Routes, keptSinceMs?: number): Finding[] {
  const isKept = (atMs: number) => keptSinceMs === undefined || atMs >= keptSinceMs
  const say = sayer(order)
  const byId = new Map<string, AuditedEvent>()
  const findings: Finding[] = []
  for (const event of order.events) {
    const { eventId: id } = event
    if (byId.has(id)) findings.push(say('duplicate', event, 'Postgres has it twice'))
    else if (id !== idOf(order, event)) findings.push(say('extra', event, 'its id does not follow from its cause'))
    byId.set(id, event)
  }
  const due = new Map<string, Due>()
  const perhaps = new Map<string, Due>()
  for (const expectation of expectationsOf(order)) {
    const { chosen, besides } = choose(order, expectation, routes, byId)
    for (const one of chosen) (isKept(expectation.atMs) ? due : perhaps).set(idOf(order, one), one)
    for (const one of besides) perhaps.set(idOf(order, one), one)
  }
  for (const { atMs, ...one } of noticesOf(order)) (isKept(atMs) ? due : perhaps).set(idOf(order, one), one)

  for (const [id, one] of due)
    if (!byId.has(id))
      findings.push(say('missing', { ...one, eventId: id, laneSeq: null }, `${one.cause} sent no event`))
  for (const [id, event] of byId) {
    const found = due.get(id) ?? perhaps.get(id)
    if (found === undefined) {
      if (id === idOf(order, event))
        findings.push(say('extra', event, `nothing of the order has caused it: ${event.cause}`))
      continue
    }
    const wrong = wrongMoney(event, found.money)
    if (wrong !== undefined) findings.push(say('amount_mismatch', event, wrong))
  }
  // What is named already is not named again by what follows from it.
  if (findings.length === 0 && isKept(order.createdAtMs))
    findings.push(...judgeSequence(order, say), ...judgeMoney(order, say))
  return findings
}

export type Say = (
  finding: FindingKind,
  event: Partial<Pick<AuditedEvent, 'eventId' | 'kind' | 'topic' | 'laneSeq'>>,
  detail: string,
) => Finding

const sayer =
  ({ merchant, outTradeNo, lane }: AuditedOrder): Say =>
  (finding, { eventId: id = null, kind = null, topic = null, laneSeq = null }, detail) => ({
    ...NAMELESS,
    ...{ finding, in: 'orders', merchant, outTradeNo, lane, eventId: id, kind, topic, laneSeq, detail },
  })

const idOf = ({ merchant, outTradeNo }: AuditedOrder, { cause, kind, topic }: Pick<Due, 'cause' | 'kind' | 'topic'>) =>
  eventId(merchant, outTradeNo, cause, kind, topic)

/** Of the sets that a cause may have sent, the one of which most is there; the first, if nothing is. */
function choose(
  order: AuditedOrder,
  { cause, oneOf, perhaps, money }: Expectation,
  routes: Routes,
  byId: ReadonlyMap<string, AuditedEvent>,
): { chosen: readonly Due[]; besides: readonly Due[] } {
  const dueOf = (kinds: readonly EventKind[]): Due[] =>
    kinds.flatMap((kind) => routes[kind].map((topic) => ({ cause, kind, topic, money })))
  const there = (dues: readonly Due[]) => dues.filter((one) => byId.has(idOf(order, one))).length
  let chosen: readonly Due[] | undefined
  for (const dues of oneOf.map(dueOf)) {
    // None is due where a cause may be silent, and nothing of it is there.
    if (chosen === undefined || there(dues) > there(chosen) || (dues.length === 0 && there(chosen) === 0)) chosen = dues
  }
  const besides = perhaps === null ? [] : dueOf([perhaps.kind]).map((one) => ({ ...one, money: perhaps.money }))
  return { chosen: chosen ?? [], besides }
}

const noticesOf = ({ anomalies }: AuditedOrder): (Due & { readonly atMs: number })[] =>
  anomalies.flatMap(({ kind, cause, openedAtMs, resolvedAtMs }) => {
    const notice = (of: string) => ({ cause: `${kind}:${cause}`, kind: of, topic: NOTICE_TOPIC, money: null })
    const opened = { ...notice('anomaly_opened'), atMs: openedAtMs }
    return resolvedAtMs === null ? [opened] : [opened, { ...notice('anomaly_resolved'), atMs: resolvedAtMs }]
  })

function wrongMoney({ amountMinor, currency, paymentRef }: AuditedEvent, money: Money | null): string | undefined {
  const said = `${amountMinor ?? 'nothing'} ${currency ?? ''} of ${paymentRef ?? 'nothing'}`
  if (money === null)
    return amountMinor === null && currency === null ? undefined : `it says ${said}, and is about no money`
  const due = `${money.exactMinor ?? `at most ${money.mostMinor}`} ${money.currency} of ${money.paymentRef}`
  const isRight =
    amountMinor !== null &&
    (money.exactMinor === undefined
      ? BigInt(amountMinor) <= money.mostMinor
      : BigInt(amountMinor) === money.exactMinor) &&
    currency === money.currency &&
    paymentRef === money.paymentRef
  return isRight ? undefined : `it says ${said}, its cause ${due}`
}

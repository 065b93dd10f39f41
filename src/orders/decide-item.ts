import { openAnomaly } from './anomaly.ts'
import type { Item, Outcome, Refusal } from './decision.ts'
import { ON_COMMAND, type CommandCells } from './on-command.ts'
import { receiveFact } from './receive-fact.ts'
import type { OrderWork, Trigger } from './work.ts'

/** Decides one item of an order whose held facts were tried. */
export function decideItem(work: OrderWork, item: Item): Outcome {
  const cells: CommandCells = ON_COMMAND[work.order.status]
  switch (item.kind) {
    case 'fact':
      return receiveFact(work, item.fact, item.receivedAtMs)
    case 'release':
      return { kind: 'done', status: work.order.status }
    case 'close':
      return cells.close.decide(work, now(work, 'close'))
    case 'expire':
      work.expiryDone = true
      return cells.expire.decide(work, now(work, 'expire'))
    case 'held_limit':
      return reachLimit(work, item.ref)
    case 'resolve': {
      const anomaly = [...work.anomalies.values()].find(({ id }) => id === item.anomalyId)
      if (anomaly === undefined) return refused(work, { reason: 'unknown_anomaly' })
      const { resolution, reason, actor } = item
      return cells.resolve.decide(work, { anomaly, resolution, reason, actor })
    }
    case 'unprocessable':
      return openAnomaly(work, 'unprocessable', now(work, item.cause), { detail: item.detail })
  }
}

/** Says what a fact waits for in vain. It stays held: when that comes after all, the fact counts and its anomaly ends. */
function reachLimit(work: OrderWork, ref: string): Outcome {
  work.limitsReached.add(ref)
  const entry = work.facts.get(ref)
  if (entry?.outcome !== 'held') return { kind: 'done', status: work.order.status }
  const kind = work.order.status === 'awaited' ? 'unknown_order' : 'refund_without_payment'
  return openAnomaly(work, kind, entry.trigger, { fact: entry.fact })
}

const now = (work: OrderWork, cause: string): Trigger => ({
  cause,
  occurredAtMs: work.batch.nowMs,
  receivedAtMs: null,
})
const refused = ({ order }: OrderWork, refusal: Refusal): Outcome => ({
  kind: 'refused',
  status: order.status,
  refusal,
})

import type { FactCell, FactResult } from '../../src/orders/cell.ts'
import { FACT_KINDS, STATUSES, type FactKind, type Status } from '../../src/orders/model.ts'
import { ON_FACT } from '../../src/orders/on-fact.ts'

let isTouched = false

/** Runs `work` and says whether it met a ⇄ where its result depends on arrival order. Wraps the tables for good. */
export function touchesArrivalOrder(work: () => void): boolean {
  isTouched = false
  work()
  return isTouched
}

for (const status of STATUSES)
  for (const kind of FACT_KINDS) {
    const cell: FactCell = ON_FACT[status][kind]
    if (!cell.arrivalDependent) continue
    const decide: FactCell['decide'] = (order, entry) => {
      const result = cell.decide(order, entry)
      if (isArrivalDependent(kind, status, order.order.status, result)) isTouched = true
      return result
    }
    Object.assign(ON_FACT[status], { [kind]: { ...cell, decide } })
  }

/** Not the parts of those cells that are the same in every status: a held refund, a partial one, a wrong amount. */
function isArrivalDependent(kind: FactKind, before: Status, after: Status, result: FactResult) {
  if (result.kind === 'held') return false
  if (result.kind === 'anomaly' && result.anomaly === 'amount_mismatch') return false
  return kind !== 'refund_succeeded' || before !== after
}

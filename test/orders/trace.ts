import type { FactCell, FactResult } from '../../src/orders/cell.ts'
import { FACT_KINDS, STATUSES, type FactKind, type Status } from '../../src/orders/model.ts'
import { ON_FACT } from '../../src/orders/on-fact.ts'

/** `status × fact`, as the table has them. */
export type CellName = `${Status} × ${FactKind}`

let touched = new Set<CellName>()

/** Runs `work` and says which ⇄ it met where their result depends on arrival order. Wraps the tables for good. */
export function touchedCells(work: () => void): ReadonlySet<CellName> {
  touched = new Set()
  work()
  return touched
}

export const touchesArrivalOrder = (work: () => void): boolean => touchedCells(work).size > 0

for (const status of STATUSES)
  for (const kind of FACT_KINDS) {
    const cell: FactCell = ON_FACT[status][kind]
    // A payment of a pending order is marked in its footnote only: where another order of its group is paid.
    const inGroup = status === 'pending' && kind === 'payment_succeeded'
    if (!cell.arrivalDependent && !inGroup) continue
    const decide: FactCell['decide'] = (order, entry) => {
      const result = cell.decide(order, entry)
      const dependsHere = inGroup
        ? isSecondOfGroup(result)
        : isArrivalDependent(kind, status, order.order.status, result)
      if (dependsHere) touched.add(`${status} × ${kind}`)
      return result
    }
    Object.assign(ON_FACT[status], { [kind]: { ...cell, decide } })
  }

const isSecondOfGroup = (result: FactResult) => result.kind === 'anomaly' && result.anomaly === 'double_payment'

/** Not the parts of those cells that are the same in every status: a held refund, a partial one, a wrong amount. */
function isArrivalDependent(kind: FactKind, before: Status, after: Status, result: FactResult) {
  if (result.kind === 'held') return false
  if (result.kind === 'anomaly' && result.anomaly === 'amount_mismatch') return false
  return kind !== 'refund_succeeded' || before !== after
}

import { emit } from './emit.ts'
import type { ClosedBy } from './model.ts'
import type { OrderWork, Trigger } from './work.ts'

/** A pending order ends unpaid: what was reserved for it is free again. */
export function closeOrder(work: OrderWork, by: ClosedBy, trigger: Trigger) {
  Object.assign(work.order, { status: 'closed', closedBy: by, closedAtMs: trigger.occurredAtMs })
  work.expiryDone = true
  emit(work, 'unreserve', trigger)
}

import type { CreateDecision, ExistingOrder } from './create-order.ts'
import { ON_COMMAND, type CommandCells } from './on-command.ts'
import { bodyHash, type OrderBody } from './order-body.ts'

/**
 * Decides about the creation of an order. A create never closes, revives or changes an order that has terms.
 * @param existing null: there is neither a row nor a tombstone
 */
export function decideCreate(existing: ExistingOrder | 'archived' | null, body: OrderBody): CreateDecision {
  if (existing === null) return { kind: 'create', bodyHash: bodyHash(body), wake: false }
  if (existing === 'archived') return { kind: 'archived' }
  const cell: CommandCells['create'] = ON_COMMAND[existing.status].create
  return cell.decide(existing, body)
}

import type { CreateDecision, ExistingOrder } from './create-order.ts'
import { ON_COMMAND, type CommandCells } from './on-command.ts'
import type { OrderBody } from './order-body.ts'

/** Decides about the creation of an order that has a row. A create never closes, revives or changes one with terms. */
export function decideCreate(existing: ExistingOrder, body: OrderBody): CreateDecision {
  const cell: CommandCells['create'] = ON_COMMAND[existing.status].create
  return cell.decide(existing, body)
}

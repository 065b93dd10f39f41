import { closeOrder } from './close-order.ts'
import { becomePending, compareBodies, type CreateDecision, type ExistingOrder } from './create-order.ts'
import type { Outcome, Refusal } from './decision.ts'
import type { ClosedBy, Status } from './model.ts'
import type { OrderBody } from './order-body.ts'
import { resolve, type ResolveCommand } from './resolve.ts'
import type { OrderWork, Trigger } from './work.ts'

export const COMMAND_KINDS = ['create', 'close', 'expire', 'resolve'] as const
export type CommandKind = (typeof COMMAND_KINDS)[number]

interface CommandCell<Decide> {
  /** As the printed table has it. */
  readonly says: string
  readonly decide: Decide
}
type DecideCommand = (work: OrderWork, trigger: Trigger) => Outcome

/** What one status does with each command. Create is decided by the api, the others by the lane. */
export interface CommandCells {
  readonly create: CommandCell<(existing: ExistingOrder, body: OrderBody) => CreateDecision>
  readonly close: CommandCell<DecideCommand>
  readonly expire: CommandCell<DecideCommand>
  readonly resolve: CommandCell<(work: OrderWork, command: ResolveCommand) => Outcome>
}

const compare = { says: 'same body: same answer; else 409, names the first differing field', decide: compareBodies }
const nothing = (says: string) => ({
  says,
  decide: ({ order }: OrderWork): Outcome => ({ kind: 'done', status: order.status }),
})
const refused = (
  reason: (Refusal & { readonly reason: 'unknown_order' | 'already_paid' | 'already_refunded' })['reason'],
) => ({
  says: `409 \`${reason}\``,
  decide: ({ order }: OrderWork): Outcome => ({ kind: 'refused', status: order.status, refusal: { reason } }),
})
const closeBy = (by: ClosedBy) => ({
  says: '→ closed, emit unreserve',
  decide: (work: OrderWork, trigger: Trigger): Outcome => {
    closeOrder(work, by, trigger)
    work.order.version += 1
    return { kind: 'done', status: work.order.status }
  },
})
const acceptable = {
  says: "a payment's anomaly: `accept_payment` → paid, emit ship, deduct, grant; `refund_outside`; any: `ignore`",
  decide: resolve,
}
const paidAlready = { says: "a payment's anomaly: `refund_outside`; any: `ignore`", decide: resolve }

export const ON_COMMAND = {
  awaited: {
    create: { says: '→ pending, wake the lane for its held facts', decide: becomePending },
    close: refused('unknown_order'),
    expire: nothing('nothing'),
    resolve: { says: '`ignore`; its facts stay held', decide: resolve },
  },
  pending: { create: compare, close: closeBy('merchant'), expire: closeBy('expiry'), resolve: acceptable },
  paid: { create: compare, close: refused('already_paid'), expire: nothing('nothing'), resolve: paidAlready },
  shipped: { create: compare, close: refused('already_paid'), expire: nothing('nothing'), resolve: paidAlready },
  closed: { create: compare, close: nothing('same answer'), expire: nothing('nothing'), resolve: acceptable },
  refunded: {
    create: compare,
    close: refused('already_refunded'),
    expire: nothing('nothing'),
    resolve: {
      says: "a payment's anomaly: `reopen` → paid again, emit ship, deduct, grant; `refund_outside`; any: `ignore`",
      decide: resolve,
    },
  },
} satisfies Record<Status, CommandCells>

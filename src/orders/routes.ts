import type { TopicName } from '../schemas/topics.ts'
import type { EventKind } from './model.ts'

/** The topics of each kind of event, without the installation's prefix: one message, with a sequence of its own, in each. */
export type Routes = Readonly<Record<EventKind, readonly TopicName[]>>

const SHIPMENT = 'fulfillment.shipment.v1'
const INVENTORY = 'fulfillment.inventory.v1'
const POINTS = 'fulfillment.points.v1'

/** Where notices of anomalies go; not configurable, as no worker acts on them. */
export const NOTICE_TOPIC = 'payments.anomaly.v1' satisfies TopicName

/** Each worker hears what is its own; a partial refund is for all three to judge. */
export const DEFAULT_ROUTES: Routes = {
  ship: [SHIPMENT],
  cancel: [SHIPMENT],
  return: [SHIPMENT],
  deduct: [INVENTORY],
  restore: [INVENTORY],
  unreserve: [INVENTORY],
  grant: [POINTS],
  revoke: [POINTS],
  refund: [SHIPMENT, INVENTORY, POINTS],
}

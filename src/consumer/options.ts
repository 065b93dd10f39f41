import type { Registry } from 'prom-client'
import type { Log } from '../runtime/log.ts'
import type { FulfillmentTopic } from '../schemas/fulfillment-reader.ts'
import type { Reach } from './crash-points.ts'
import type { Effect } from './effect.ts'
import type { Parts, Unsettled } from './parts.ts'

export interface ConsumerOptions {
  /** Without the installation's prefix. */
  readonly topic: FulfillmentTopic
  /** What each kind of event makes happen. An event of a kind that is not here is a dead letter: use `skip` to ignore. */
  readonly effects: Readonly<Record<string, Effect>>
  /** Makes the consumer's own tables, once Postgres is there and before any event is taken in. */
  readonly prepare?: (pool: Parts['pool']) => Promise<unknown>
  /** Nobody can say whether the event's effect took place. It is logged, counted and reported too. */
  readonly onUnsettled?: (unsettled: Unsettled) => unknown
  readonly log?: Log
  readonly registry?: Registry
  /** Kafka's client has died for good: end the process. By default thrown where nobody catches it. */
  readonly onFatal?: (error: Error) => void
  /** Tests crash here. */
  readonly reach?: Reach
  /** Tests that show what a rule is for replace a part. */
  readonly changeParts?: (parts: Parts) => Parts
}

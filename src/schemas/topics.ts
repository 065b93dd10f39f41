/** Topic names, without the installation's prefix. Output topics have the input's partition count. */
export const INPUT_TOPIC = 'payments.callback.v1'
export const SHIPMENT_TOPIC = 'fulfillment.shipment.v1'
export const INVENTORY_TOPIC = 'fulfillment.inventory.v1'
export const POINTS_TOPIC = 'fulfillment.points.v1'
export const ANOMALY_TOPIC = 'payments.anomaly.v1'
export const DEAD_LETTER_TOPIC = 'payments.callback.v1.dlq'

export const FULFILLMENT_TOPICS = [SHIPMENT_TOPIC, INVENTORY_TOPIC, POINTS_TOPIC] as const
export const OUTPUT_TOPICS = [...FULFILLMENT_TOPICS, ANOMALY_TOPIC, DEAD_LETTER_TOPIC] as const
export const TOPICS = [INPUT_TOPIC, ...OUTPUT_TOPICS] as const
export type TopicName = (typeof TOPICS)[number]

const DAY_MS = 86_400_000
/** Restoring a backup re-reads the input: keep it longer than the oldest backup. */
export const RETENTION_MS: Record<TopicName, number> = {
  [INPUT_TOPIC]: 30 * DAY_MS,
  [SHIPMENT_TOPIC]: 35 * DAY_MS,
  [INVENTORY_TOPIC]: 35 * DAY_MS,
  [POINTS_TOPIC]: 35 * DAY_MS,
  [ANOMALY_TOPIC]: 35 * DAY_MS,
  [DEAD_LETTER_TOPIC]: 35 * DAY_MS,
}

export const inputGroup = (appId: string) => appId
export const ledgerGroup = (appId: string) => `${appId}.ledger`
export const transactionalId = (appId: string, lane: number) => `${appId}-lane-${lane}`
/** Repeats a ledger in its offset's metadata: an offset without it was set by someone else (a reset tool, a backup). */
export const ledgerMark = (ledger: number) => String(ledger)

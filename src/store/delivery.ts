export const DELIVERY_OUTCOMES = [
  'applied',
  'noted',
  'held',
  'anomaly',
  'duplicate',
  'conflict',
  'dead_letter',
  'skipped',
  'archived',
] as const
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number]

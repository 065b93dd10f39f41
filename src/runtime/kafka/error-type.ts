/**
 * Kafka's name for an error (`INVALID_PRODUCER_EPOCH`, …), also when kafkajs has wrapped it: an error whose retries
 * are used up carries the type in its cause only.
 */
export function kafkaErrorType(error: unknown): string | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth++) {
    const { type } = current as { type?: unknown }
    if (typeof type === 'string') return type
  }
  return undefined
}

/**
 * True when a newer producer with the same transactional id exists. Kafka answers the old protocol that kafkajs speaks
 * with INVALID_PRODUCER_EPOCH and never with PRODUCER_FENCED.
 */
export function isFenced(error: unknown): boolean {
  const type = kafkaErrorType(error)
  return type === 'INVALID_PRODUCER_EPOCH' || type === 'INVALID_PRODUCER_ID_MAPPING'
}

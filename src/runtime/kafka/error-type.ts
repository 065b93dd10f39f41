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

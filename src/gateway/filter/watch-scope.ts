import type { Clock } from '../../runtime/clock.ts'
import type { TopicAdmin } from '../../runtime/kafka/topic-admin.ts'
import type { Log } from '../../runtime/log.ts'
import { repeat } from '../../runtime/repeat.ts'

export interface ScopeWatch {
  /** Undefined while it is not sure which topic the records go to: then nothing may be taken for known. */
  readonly scope: () => string | undefined
  readonly stop: () => void
}

export interface ScopeOptions {
  readonly topic: string
  readonly clock: Clock
  readonly log: Log
  readonly everyMs?: number
  readonly trustMs?: number
}

const LOOK_MS = 5_000
/** Several looks may fail, as when a broker is away; but nobody who says nothing is taken to mean "as before". */
const TRUST_MS = 30_000

/**
 * Where that is which the filter knows: the Kafka cluster, the topic, and the id that it was made with. A topic that was
 * made anew under its name has another id, and is empty: a fact that was in the old one is news.
 */
export async function watchScope(
  admin: Pick<TopicAdmin, 'clusterId' | 'topicIds'>,
  { topic, clock, log, everyMs = LOOK_MS, trustMs = TRUST_MS }: ScopeOptions,
): Promise<ScopeWatch> {
  let seen: { readonly scope: string | undefined; readonly atMs: number }
  const look = async () => {
    const atMs = clock.elapsedMs()
    const [cluster, ids] = [await admin.clusterId(), await admin.topicIds([topic])]
    const id = ids.get(topic)
    seen = { scope: id === undefined ? undefined : `${cluster} ${topic} ${id}`, atMs }
  }
  await look()
  return {
    scope: () => (clock.elapsedMs() - seen.atMs <= trustMs ? seen.scope : undefined),
    stop: repeat('looking which topic the filter is about', everyMs, log, look),
  }
}

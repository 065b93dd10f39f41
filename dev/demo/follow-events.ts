import { javaFollow } from '../parts/java-topics.ts'
import { seenEvent } from './verdict.ts'

export interface Follower {
  /** For each event, milliseconds from the gateway's receipt of its callback until a worker could see it. */
  readonly latenciesMs: number[]
  readonly stop: () => Promise<void>
}

/** Reads the topics as a worker does while the demo runs, to know when each event became visible. */
export async function followEvents(brokers: string, topics: readonly string[], prefix: string): Promise<Follower> {
  const latenciesMs: number[] = []
  const { stop } = await javaFollow(brokers, topics, ({ seenMs, ...record }) => {
    const { receivedAtMs } = seenEvent(record, prefix)
    if (receivedAtMs !== null) latenciesMs.push(seenMs - receivedAtMs)
  })
  return { latenciesMs, stop }
}

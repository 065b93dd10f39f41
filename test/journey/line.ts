import { factCause } from '../../src/orders/identity.ts'
import type { Step } from '../orders/shop.ts'
import type { Played } from './play-history.ts'
import type { Seen } from './read-ends.ts'

/** What came to one order, but for its creation. */
export interface Line {
  readonly orderId: number
  readonly steps: readonly {
    readonly step: Step
    /** When its lane's transaction was, in microseconds. */
    readonly atUs: number
    /** What became of a fact; undefined: a command. */
    readonly expected: string | undefined
  }[]
  /** It was created after so many of the steps at the earliest, at the latest. */
  readonly createdAfter: readonly [number, number]
}

/**
 * An order's facts in the order of its partition, which is that in which they were sent, with what became of each; its
 * close and its expiry between them, as a lane has one transaction after the other.
 * @throws Error if the partition has them otherwise
 */
export function lineOf(orderId: number, { sent, createdAfter }: Played, seen: Seen): Line {
  const commands: Line['steps'][number][] = []
  if (seen.closedAtUs !== undefined)
    commands.push({ atUs: seen.closedAtUs, step: { kind: 'close', orderId, commandId: 1 }, expected: undefined })
  if (seen.expiredAtUs !== undefined)
    commands.push({ atUs: seen.expiredAtUs, step: { kind: 'expire', orderId, timerId: 1 }, expected: undefined })
  commands.sort((a, b) => a.atUs - b.atUs)

  const steps: Line['steps'][number][] = []
  const { deliveries } = seen.end
  if (deliveries.length !== sent.length) throw new Error(`${sent.length} were sent, and are ${deliveries.join(', ')}`)
  let atUs = 0
  for (const [index, fact] of sent.entries()) {
    const [cause, outcome] = deliveries[index]?.split(' ') ?? []
    if (cause !== factCause(fact))
      throw new Error(`${factCause(fact)} was sent as number ${index}, and is ${cause ?? ''}`)
    // A copy is no fact of its own.
    if (outcome !== 'duplicate') atUs = Math.max(atUs, seen.factAtUs.get(cause) ?? 0)
    while (commands[0] !== undefined && commands[0].atUs < atUs) steps.push(...commands.splice(0, 1))
    steps.push({ atUs, step: { kind: 'fact', orderId, fact, receivedAtMs: null }, expected: outcome })
  }
  return { orderId, steps: [...steps, ...commands], createdAfter }
}

import type { Host } from '../world/queue.ts'
import type { Random } from '../world/random.ts'
import type { Scheduler } from '../world/scheduler.ts'

export interface Member {
  readonly host: Host
  /** Called on the member's host once it has heard of the new generation. */
  readonly onAssigned: (partitions: readonly number[]) => void
}

/** The group coordinator: who is a member, and who is given which partitions. */
export interface ConsumerGroup {
  readonly join: (member: Member) => void
  readonly leave: (member: Member) => void
  /** A member that is frozen or gone is given up after the session timeout. */
  readonly silence: (host: Host) => void
  /** A member that was frozen learns that it was given up, and joins again. */
  readonly revive: (host: Host) => void
  /** Deals anew, as after a member's hiccup. */
  readonly rebalance: () => void
  readonly generation: () => number
}

/** How late a member can learn of a new generation: until then it goes on as if its partitions were its own. */
const HEARTBEAT_MS = 1_500

export function createConsumerGroup(
  scheduler: Scheduler,
  random: Random,
  { partitions, sessionTimeoutMs }: { readonly partitions: number; readonly sessionTimeoutMs: number },
): ConsumerGroup {
  const members: Member[] = []
  const known = new Map<Host, Member>()
  let generation = 0

  const deal = () => {
    generation++
    const dealt = generation
    if (members.length === 0) return
    const order = random.shuffle(members)
    const shares = new Map<Member, number[]>(order.map((member) => [member, []]))
    for (let partition = 0; partition < partitions; partition++)
      shares.get(order[partition % order.length] as Member)?.push(partition)
    for (const member of order) {
      const share = shares.get(member) ?? []
      const delayMs = random.chance(0.5) ? random.next() * 5 : random.next() * HEARTBEAT_MS
      scheduler.at(delayMs, member.host, `join ${dealt}: ${share.join()}`, () => {
        // Somebody joined meanwhile: this member hears of the newer generation only.
        if (dealt === generation && members.includes(member)) member.onAssigned(share)
      })
    }
  }
  const remove = (member: Member) => {
    const index = members.indexOf(member)
    if (index < 0) return
    members.splice(index, 1)
    deal()
  }
  return {
    join: (member) => {
      known.set(member.host, member)
      members.push(member)
      deal()
    },
    leave: (member) => {
      known.delete(member.host)
      remove(member)
    },
    silence: (host) => {
      const member = known.get(host)
      if (member === undefined) return
      scheduler.at(sessionTimeoutMs, undefined, `session of ${host.name} ends`, () => {
        if (host.state !== 'up') remove(member)
      })
    },
    revive: (host) => {
      const member = known.get(host)
      if (member === undefined) return
      scheduler.at(random.next() * HEARTBEAT_MS, host, `${host.name} heartbeat`, () => {
        // It may have left meanwhile.
        if (known.get(host) === member && !members.includes(member)) {
          members.push(member)
          deal()
        }
      })
    },
    rebalance: deal,
    generation: () => generation,
  }
}

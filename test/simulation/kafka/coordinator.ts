import { Refused } from './partition-log.ts'

type State = 'empty' | 'ongoing' | 'committing' | 'aborting' | 'committed' | 'aborted'

interface Transactional {
  readonly producerId: number
  epoch: number
  state: State
  /** Partitions as `topic/0`, groups as `group:name`. */
  readonly members: Set<string>
  markersLeft: number
  /** Of the transaction that is open, so that its timeout does not end another one. */
  begun: number
}

export interface Identity {
  readonly transactionalId: string
  readonly producerId: number
  readonly epoch: number
}

export interface CoordinatorWorld {
  /** Writes one marker at some time, and calls back. */
  readonly writeMarker: (
    member: string,
    by: { readonly producerId: number; readonly epoch: number },
    isCommit: boolean,
    done: () => void,
  ) => void
  readonly after: (ms: number, what: string, run: () => void) => void
  /** From here on the outcome is certain; readers see it with the markers. */
  readonly onDecided: (producerId: number, members: readonly string[], isCommit: boolean) => void
  readonly onEnded: (transactionalId: string, isCommit: boolean) => void
}

const TIMEOUT_MS = 15_000

/** The transaction coordinator as kafkajs 2.2.4 meets it: the first version of the protocol (no epoch per transaction). */
export function createCoordinator(world: CoordinatorWorld) {
  const all = new Map<string, Transactional>()
  let producerIds = 0
  let transactions = 0

  const end = (id: string, one: Transactional, isCommit: boolean) => {
    one.state = isCommit ? 'committing' : 'aborting'
    const members = [...one.members]
    one.members.clear()
    one.markersLeft = members.length
    world.onDecided(one.producerId, members, isCommit)
    const finish = () => {
      one.state = isCommit ? 'committed' : 'aborted'
      world.onEnded(id, isCommit)
    }
    if (members.length === 0) finish()
    const { producerId, epoch } = one
    for (const member of members)
      world.writeMarker(member, { producerId, epoch }, isCommit, () => {
        if (--one.markersLeft === 0) finish()
      })
  }
  /** Somebody else begins, or nobody went on: the epoch is raised, so that the one who was at it is refused. */
  const abortFenced = (id: string, one: Transactional) => {
    one.epoch += 1
    end(id, one, false)
  }
  const checked = ({ transactionalId, producerId, epoch }: Identity): Transactional => {
    const one = all.get(transactionalId)
    if (one?.producerId !== producerId) throw new Refused('INVALID_PRODUCER_ID_MAPPING')
    if (one.epoch !== epoch) throw new Refused('INVALID_PRODUCER_EPOCH')
    return one
  }
  const add = (identity: Identity, members: readonly string[]) => {
    const one = checked(identity)
    if (one.state === 'committing' || one.state === 'aborting') throw new Refused('CONCURRENT_TRANSACTIONS')
    if (one.state !== 'ongoing') {
      one.state = 'ongoing'
      const begun = (one.begun = ++transactions)
      world.after(TIMEOUT_MS, 'transaction timeout', () => {
        if (one.state === 'ongoing' && one.begun === begun) abortFenced(identity.transactionalId, one)
      })
    }
    for (const member of members) one.members.add(member)
  }

  return {
    initProducerId: (transactionalId: string): { producerId: number; producerEpoch: number } => {
      const one = all.get(transactionalId)
      if (one === undefined) {
        const producerId = ++producerIds
        all.set(transactionalId, {
          ...{ producerId, epoch: 0, state: 'empty', members: new Set(), markersLeft: 0, begun: 0 },
        })
        return { producerId, producerEpoch: 0 }
      }
      if (one.state === 'committing' || one.state === 'aborting') throw new Refused('CONCURRENT_TRANSACTIONS')
      if (one.state === 'ongoing') {
        abortFenced(transactionalId, one)
        throw new Refused('CONCURRENT_TRANSACTIONS')
      }
      one.epoch += 1
      one.state = 'empty'
      return { producerId: one.producerId, producerEpoch: one.epoch }
    },
    add,
    endTxn: (identity: Identity, isCommit: boolean) => {
      const one = checked(identity)
      if (one.state === 'ongoing') {
        end(identity.transactionalId, one, isCommit)
        return
      }
      if (one.state === (isCommit ? 'committed' : 'aborted')) return
      if (one.state === (isCommit ? 'committing' : 'aborting')) throw new Refused('CONCURRENT_TRANSACTIONS')
      throw new Refused('INVALID_TXN_STATE')
    },
    /** What a leader asks before it takes a transaction's first batch. */
    isInTransaction: ({ transactionalId, producerId, epoch }: Identity, member: string): boolean => {
      const one = all.get(transactionalId)
      return one?.producerId === producerId && one.epoch === epoch && one.state === 'ongoing' && one.members.has(member)
    },
    isIdle: () => [...all.values()].every(({ state }) => !['ongoing', 'committing', 'aborting'].includes(state)),
  }
}
export type Coordinator = ReturnType<typeof createCoordinator>

import type { Step } from './scripts.ts'

/** The requests of kafkajs to a broker, on either side. */
export interface Node {
  readonly initProducerId: (by: { transactionalId: string; transactionTimeout: number }) => Promise<Ids>
  readonly addPartitionsToTxn: (by: By & { topics: { topic: string; partitions: number[] }[] }) => Promise<unknown>
  readonly produce: (by: By & { topicData: object[] }) => Promise<Produced>
  readonly addOffsetsToTxn: (by: By & { groupId: string }) => Promise<unknown>
  readonly txnOffsetCommit: (by: By & { groupId: string; topics: object[] }) => Promise<unknown>
  readonly endTxn: (by: By & { transactionResult: boolean }) => Promise<unknown>
}
interface Produced {
  readonly topics: readonly { readonly partitions: readonly { readonly baseOffset: string }[] }[]
}
interface Ids {
  readonly producerId: unknown
  readonly producerEpoch: number
}
type By = Ids & { readonly transactionalId: string }

export interface Side {
  readonly node: Node
  readonly topic: string
  /** Makes names of groups and transactional ids this script's own. */
  readonly nameOf: (name: string) => string
  readonly committed: (group: string) => Promise<{ offset: number; metadata: string } | undefined>
  readonly end: (partition: number) => Promise<number>
}

const TRIES_MAX = 400

/**
 * Plays a script. What is refused while markers are on their way is asked again, as kafkajs does.
 * @param settled reads again until the value is the one that is due, or it is too late
 */
export async function playScript(
  steps: readonly Step[],
  { node, topic, nameOf, committed, end }: Side,
  settled: (read: () => Promise<string>, index: number) => Promise<string>,
): Promise<string[]> {
  const ids = new Map<string, By>()
  const by = (who: string): By => {
    const found = ids.get(who)
    if (found === undefined) throw new Error(`${who} has not begun`)
    return found
  }
  const ask = async <T>(request: () => Promise<T>, say: (answer: T) => string = () => 'ok'): Promise<string> => {
    for (let tries = 1; ; tries++)
      try {
        return say(await request())
      } catch (error) {
        const { type, message } = error as { type?: string; message: string }
        if (type !== 'CONCURRENT_TRANSACTIONS' || tries >= TRIES_MAX) return type ?? message
      }
  }
  const play = (step: Step, index: number): Promise<string> => {
    switch (step[0]) {
      case 'init': {
        const transactionalId = nameOf(step[1].slice(0, 1))
        return ask(async () => {
          const { producerId, producerEpoch } = await node.initProducerId({
            transactionalId,
            transactionTimeout: 15_000,
          })
          ids.set(step[1], { transactionalId, producerId, producerEpoch })
        })
      }
      case 'add':
        return ask(() => node.addPartitionsToTxn({ ...by(step[1]), topics: [{ topic, partitions: [step[2]] }] }))
      case 'produce': {
        const [, who, partition, firstSequence, values] = step
        const messages = values.split(' ').map((value) => ({ key: null, value: Buffer.from(value), headers: {} }))
        const topicData = [{ topic, partitions: [{ partition, firstSequence, messages }] }]
        const baseOf = ({ topics }: Produced) => `ok at ${topics[0]?.partitions[0]?.baseOffset ?? 'nowhere'}`
        return ask(() => node.produce({ ...by(who), topicData }), baseOf)
      }
      case 'groups':
        return ask(() => node.addOffsetsToTxn({ ...by(step[1]), groupId: nameOf(step[2]) }))
      case 'offset': {
        const [, who, group, offset, metadata] = step
        const topics = [{ topic, partitions: [{ partition: 0, offset: String(offset), metadata }] }]
        return ask(() => node.txnOffsetCommit({ ...by(who), groupId: nameOf(group), topics }))
      }
      case 'commit':
      case 'abort':
        return ask(() => node.endTxn({ ...by(step[1]), transactionResult: step[0] === 'commit' }))
      case 'read':
        return settled(async () => {
          const found = await committed(nameOf(step[1]))
          return found === undefined ? 'none' : `${found.offset} '${found.metadata}'`
        }, index)
      case 'end':
        return settled(async () => String(await end(step[1])), index)
    }
  }
  const said: string[] = []
  for (const [index, step] of steps.entries()) said.push(`${step.join(' ')}: ${await play(step, index)}`)
  return said
}

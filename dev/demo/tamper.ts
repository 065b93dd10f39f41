import { javaDeleteBefore, javaRead, javaWrite } from '../parts/java-topics.ts'

/** Ways to break the result on purpose, to see that the demo notices. */
export const TAMPERINGS = ['copy', 'withhold', 'own-rows'] as const
export type Tampering = (typeof TAMPERINGS)[number]

/** Copies an event, or makes one vanish, with Kafka's own tools. */
export async function tamper(how: Tampering, brokers: string, topic: string): Promise<void> {
  if (how === 'own-rows') return // the processors themselves were started with a wrong rule
  const [event] = await javaRead({ brokers, topics: [topic] })
  if (event === undefined) throw new Error(`${topic} is empty: nothing to ${how}`)
  if (how === 'copy') await javaWrite(brokers, [event])
  else await javaDeleteBefore(brokers, topic, event.partition, event.offset + 1)
}

import { createBatchPublisher } from '../../../src/gateway/batch-publisher.ts'
import { createReceive, type Receive, type Target } from '../../../src/gateway/receive-callback.ts'
import type { VerifiedMessage } from '../../../src/providers/provider.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { simulatedPlainProducer } from '../kafka/clients.ts'
import type { Host } from '../world/queue.ts'
import type { Standing } from './aim.ts'
import type { World } from './world.ts'

/** What a provider signs; the bytes are only its name. */
const messagesOf = new WeakMap<Buffer, readonly [VerifiedMessage, ...VerifiedMessage[]]>()

export interface Gateway {
  readonly host: Host
  readonly post: (merchant: string, messages: readonly VerifiedMessage[], answer: (isAccepted: boolean) => void) => void
}

const DEADLINE_MS = 4_000
/** Nobody waits so long. */
const TOO_LATE_MS = 6_000

/** The gateway's own way from a verified callback to its answer; only HTTP and signatures are left out. */
export function startSimulatedGateway(host: Host, world: World, ends: Pick<Standing, 'kill' | 'pause'>): Gateway {
  const { network, broker, clock, log, plan, scheduler, aim } = world
  const reach = (point: string) => void aim?.reach({ process: 'gateway', host, ...ends }, point)
  /** What it says on its way to whoever asked. */
  const say = (answer: () => void) => {
    if (aim === undefined) {
      answer()
      return
    }
    if (host.state === 'gone') return
    const fate = network.fates.take(host)
    fate?.done()
    if (host.state === 'frozen' || fate?.kind === 'late')
      scheduler.at(fate === undefined ? 0 : TOO_LATE_MS, host, 'answers', answer)
    else if (fate === undefined) answer()
  }
  const publisher = createBatchPublisher(
    simulatedPlainProducer(host, network, broker, plan.partitions),
    {
      ...{ topic: INPUT_TOPIC, partitions: plan.partitions, intervalMs: 2 },
      ...{ pendingRecordsMax: 1_000, pendingBytesMax: 1_000_000 },
      onBatch: () => undefined,
      onPartitionCountChanged: () => undefined,
    },
    clock,
    log,
    reach,
  )
  const receive: Receive = createReceive(publisher, world.codec.codec, clock, log, reach)
  const bound: Target['bound'] = {
    signedHeaders: [],
    verify: ({ rawBody }) => {
      const messages = messagesOf.get(rawBody)
      if (messages === undefined) throw new Error('nobody signed this')
      return { kind: 'verified', messages }
    },
  }
  return {
    host,
    post: (merchant, messages, answer) => {
      const rawBody = Buffer.from('callback')
      messagesOf.set(rawBody, messages as [VerifiedMessage, ...VerifiedMessage[]])
      receive(
        { provider: 'wechatpay', merchant, source: 'callback', bound },
        { headers: {}, repeatedHeaders: [], rawBody },
        clock.elapsedMs() + DEADLINE_MS,
        ({ kind }) => say(() => answer(kind === 'accepted')),
      )
    },
  }
}

import { Agent } from 'node:http'
import type { Clock } from '../runtime/clock.ts'
import type { Heard } from './log.ts'
import { post, type Manner } from './post.ts'
import { semaphore } from './semaphore.ts'
import type { SignedRequest } from './delivered.ts'

/** A provider waits five seconds for its answer (WeChat Pay says so; Alipay does not say). */
export const ANSWER_MS_MAX = 5_000

export interface Delivery {
  readonly gateway: string
  readonly atMs: number
  readonly latencyMs: number
  readonly status: number | null
  readonly heard: Heard
  /** Its content type and its body, as they came; absent without an answer. */
  readonly answer?: string
  /** Of the body and its signature, so that somebody else can tell which delivery a record of Kafka came from. */
  readonly requestSha256: string
}

export interface Sender {
  /**
   * Posts copies of a request at the same instant, each on a socket of its own, turn by turn to each gateway.
   * @param sign called when there is room for it, as a signature may not wait: its time is part of it
   */
  readonly burst: (provider: string, sign: () => SignedRequest, copies: number, manner?: Manner) => Promise<Delivery[]>
  readonly close: () => void
}

export interface SenderOptions {
  readonly gateways: readonly string[]
  /** Posts under way at once over all gateways; more wait for their turn. */
  readonly inFlightMax: number
  readonly answerMsMax: number
  /** Between two bytes of a slow sender. */
  readonly byteMs: number
  readonly clock: Clock
}

export function createSender({ gateways, inFlightMax, answerMsMax, byteMs, clock }: SenderOptions): Sender {
  const agents = gateways.map((url) => ({ url, agent: new Agent({ keepAlive: true, maxSockets: inFlightMax }) }))
  const room = semaphore(inFlightMax)
  let turn = 0
  return {
    burst: async (provider, sign, copies, manner = 'plain') => {
      const size = Math.min(copies, inFlightMax)
      await room.acquire(size)
      try {
        const signed = sign()
        const posts = Array.from({ length: copies }, () => {
          const target = agents[turn++ % agents.length]
          if (target === undefined) throw new Error('no gateway to send to')
          return post(provider, signed, { ...target, manner, answerMsMax, byteMs, clock })
        })
        return await Promise.all(posts)
      } finally {
        room.release(size)
      }
    },
    close: () => agents.forEach(({ agent }) => agent.destroy()),
  }
}

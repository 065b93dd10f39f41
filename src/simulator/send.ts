import { Agent, request } from 'node:http'
import type { Clock } from '../runtime/clock.ts'
import type { Heard } from './log.ts'
import { isSuccess, type SignedRequest } from './sign-payment.ts'

/** A provider waits five seconds for its answer (WeChat Pay says so; Alipay does not say). */
export const ANSWER_MS_MAX = 5_000
/** No answer is longer; what is, is not read. */
const ANSWER_BYTES_MAX = 4_096

export interface Delivery {
  readonly gateway: string
  readonly atMs: number
  readonly latencyMs: number
  readonly status: number | null
  readonly heard: Heard
}

export interface Sender {
  /** Posts copies of a request at the same instant, each on a socket of its own, turn by turn to each gateway. */
  readonly burst: (provider: string, signed: SignedRequest, copies: number) => Promise<Delivery[]>
  readonly close: () => void
}

export interface SenderOptions {
  readonly gateways: readonly string[]
  /** Posts under way at once over all gateways; more wait for their turn. */
  readonly inFlightMax: number
  readonly answerMsMax: number
  readonly clock: Clock
}

export function createSender({ gateways, inFlightMax, answerMsMax, clock }: SenderOptions): Sender {
  const agents = gateways.map((url) => ({ url, agent: new Agent({ keepAlive: true, maxSockets: inFlightMax }) }))
  const room = semaphore(inFlightMax)
  let turn = 0
  return {
    burst: async (provider, signed, copies) => {
      const size = Math.min(copies, inFlightMax)
      await room.acquire(size)
      try {
        const posts = Array.from({ length: copies }, () => {
          const target = agents[turn++ % agents.length]
          if (target === undefined) throw new Error('no gateway to send to')
          return post(provider, signed, { ...target, answerMsMax, clock })
        })
        return await Promise.all(posts)
      } finally {
        room.release(size)
      }
    },
    close: () => agents.forEach(({ agent }) => agent.destroy()),
  }
}

function post(
  provider: string,
  { path, headers, rawBody }: SignedRequest,
  { url, agent, answerMsMax, clock }: { url: string; agent: Agent; answerMsMax: number; clock: Clock },
): Promise<Delivery> {
  const atMs = clock.now().getTime()
  const startedMs = clock.elapsedMs()
  return new Promise((resolve) => {
    const end = (status: number | null, heard: Heard) =>
      resolve({ gateway: url, atMs, latencyMs: clock.elapsedMs() - startedMs, status, heard })
    const sent = request(new URL(path, url), {
      agent,
      method: 'POST',
      headers: { ...headers, 'content-length': rawBody.length },
      signal: AbortSignal.timeout(answerMsMax),
    })
    sent.on('error', () => end(null, 'no_answer'))
    sent.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        body += text
        if (body.length > ANSWER_BYTES_MAX) response.destroy()
      })
      response.on('error', () => end(null, 'no_answer'))
      response.on('close', () => end(null, 'no_answer'))
      response.on('end', () => {
        const status = response.statusCode ?? 0
        const success = isSuccess(provider, status, response.headers['content-type'] ?? '', body)
        end(status, success ? 'success' : status >= 200 && status < 300 ? 'wrong_form' : 'failure')
      })
    })
    sent.end(rawBody)
  })
}

/** Lets in at most so many at once, in the order in which they came. */
function semaphore(size: number) {
  let free = size
  const waiting: { size: number; enter: () => void }[] = []
  const admit = () => {
    for (let next = waiting[0]; next !== undefined && next.size <= free; next = waiting[0]) {
      free -= next.size
      waiting.shift()
      next.enter()
    }
  }
  return {
    acquire: (wanted: number) =>
      new Promise<void>((enter) => {
        waiting.push({ size: wanted, enter })
        admit()
      }),
    release: (given: number) => {
      free += given
      admit()
    },
  }
}

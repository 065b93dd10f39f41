import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import { answerAlipay } from './answer-alipay.ts'
import { answerStripe } from './answer-stripe.ts'
import { answerWechatpayV2 } from './answer-wechatpay-v2.ts'
import { answerWechatpay } from './answer-wechatpay.ts'
import type { SenderKeys } from './keys.ts'
import type { QueryLine } from './log.ts'
import type { PaymentProvider } from './stories.ts'
import type { Truth } from './truth.ts'

export interface Asked {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly rawBody: Buffer
  readonly at: Date
}
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
/** Undefined: no such address. */
export type AnswerQuery = (asked: Asked, keys: readonly SenderKeys[], truth: Truth) => Answered | undefined

export interface QueryServer {
  readonly url: string
  readonly close: () => Promise<void>
}

const ANSWERS: readonly (readonly [RegExp, PaymentProvider, AnswerQuery])[] = [
  [/^\/v3\//, 'wechatpay', answerWechatpay],
  [/^\/pay\//, 'wechatpay-v2', answerWechatpayV2],
  [/^\/gateway\.do$/, 'alipay', answerAlipay],
  [/^\/v1\//, 'stripe', answerStripe],
]
const BODY_BYTES_MAX = 65_536

/**
 * Serves what providers answer when they are asked: the same truth of which their callbacks tell, on their own paths
 * and signed by the same keys. Whoever asks must name itself as the provider wants it; only v2's signature is checked,
 * as no other key of the merchant's is here.
 */
export async function serveQueries(options: {
  readonly port: number
  readonly keys: readonly SenderKeys[]
  readonly truth: Truth
  readonly clock: Clock
  readonly record?: (line: QueryLine) => void
}): Promise<QueryServer> {
  const { keys, truth, clock, record } = options
  const server = createServer((request, response) => {
    const startedMs = clock.elapsedMs()
    void bodyOf(request).then((rawBody) => {
      const url = new URL(request.url ?? '/', 'http://provider')
      const [, provider, answer] = ANSWERS.find(([path]) => path.test(url.pathname)) ?? []
      const at = clock.now()
      const headers = request.headers as Asked['headers']
      const asked = { method: request.method ?? '', url, headers, rawBody, at }
      const answered = answer?.(asked, keys, truth) ?? { status: 404, headers: {}, body: '' }
      response.writeHead(answered.status, answered.headers).end(answered.body)
      const latencyMs = clock.elapsedMs() - startedMs
      if (provider !== undefined)
        record?.({
          ...{ line: 'query', provider, atMs: at.getTime(), latencyMs },
          ...{ asked: `${asked.method} ${url.pathname}${url.search}`, status: answered.status },
        })
    })
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(options.port, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Empty if it is too long, or ends early. */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request) {
      size += (chunk as Buffer).length
      if (size > BODY_BYTES_MAX) return Buffer.alloc(0)
      chunks.push(chunk as Buffer)
    }
  } catch {
    return Buffer.alloc(0)
  }
  return Buffer.concat(chunks)
}

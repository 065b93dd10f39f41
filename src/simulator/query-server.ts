import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../runtime/clock.ts'
import { answerAlipay } from './answer-alipay.ts'
import { answerAlipayBill } from './bill-alipay.ts'
import type { BillDifferenceOptions } from './bill-entries.ts'
import { answerStripe } from './answer-stripe.ts'
import { answerWechatpayV2 } from './answer-wechatpay-v2.ts'
import { answerWechatpay } from './answer-wechatpay.ts'
import type { SenderKeys } from './keys.ts'
import type { QueryLine } from './log.ts'
import { createFaults, type QueryFault, type QueryFaultOptions } from './query-faults.ts'
import type { PaymentProvider } from './stories.ts'
import type { Truth } from './truth.ts'

export interface Asked {
  readonly method: string
  /** The address as it was sent: what is signed. */
  readonly target: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly rawBody: Buffer
  readonly at: Date
  /** What is to be wrong with the answer, if the question is right. */
  readonly fault?: QueryFault | undefined
  /** What bills say otherwise. */
  readonly differences?: BillDifferenceOptions | undefined
}
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
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
  [/^\/alipay-bill\//, 'alipay', answerAlipayBill],
  [/^\/v1\//, 'stripe', answerStripe],
]
const BODY_BYTES_MAX = 65_536

/**
 * Serves what providers answer when they are asked: the same truth of which their callbacks tell, on their own paths
 * and signed by the same keys. Whoever asks must name itself and sign as the provider wants it.
 */
export async function serveQueries(options: {
  readonly port: number
  readonly keys: readonly SenderKeys[]
  readonly truth: Truth
  readonly clock: Clock
  readonly record?: (line: QueryLine) => void
  readonly faults?: QueryFaultOptions
  readonly differences?: BillDifferenceOptions
}): Promise<QueryServer> {
  const { keys, truth, clock, record, faults = NO_FAULTS, differences } = options
  const faultOf = createFaults(faults)
  const closed = new AbortController()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const startedMs = clock.elapsedMs()
    const rawBody = await bodyOf(request)
    const [method = '', target = '/'] = [request.method, request.url]
    const url = new URL(target, 'http://provider')
    const [, provider, answerQuery] = ANSWERS.find(([path]) => path.test(url.pathname)) ?? []
    const [at, headers] = [clock.now(), request.headers as Asked['headers']]
    const fault = provider && faultOf(provider, questionOf(provider, { target, url, rawBody }))
    const asked: Asked = { method, target, url, headers, rawBody, at, fault, differences }
    const answered = answerQuery?.(asked, keys, truth) ?? { status: 404, headers: {}, body: '' }
    if (fault === 'slow') await sleep(faults.slowMs, undefined, { signal: closed.signal }).catch(() => undefined)
    send(request, response, answered, fault)
    const latencyMs = clock.elapsedMs() - startedMs
    if (provider !== undefined)
      record?.({
        ...{ line: 'query', provider, atMs: at.getTime(), latencyMs, asked: `${method} ${target}` },
        ...{ status: fault === 'reset' ? null : answered.status, ...(fault === undefined ? {} : { fault }) },
      })
  }
  const server = createServer((request, response) => {
    // An address that is none ends its own connection, and not the simulator.
    answer(request, response).catch(() => request.socket.destroy())
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(options.port, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        closed.abort()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const NO_FAULTS: QueryFaultOptions = { shares: {}, seed: 0, slowMs: 0 }

/** What is asked, without what is new each time. */
function questionOf(
  provider: PaymentProvider,
  { target, url, rawBody }: Pick<Asked, 'target' | 'url' | 'rawBody'>,
): string {
  if (provider === 'wechatpay' || provider === 'stripe') return target
  const body = rawBody.toString()
  if (provider === 'alipay')
    return [url.searchParams.get('method'), new URLSearchParams(body).get('biz_content')].join()
  return target + body.replace(/<(nonce_str|sign)>.*?<\/\1>/gs, '')
}

function send(request: IncomingMessage, response: ServerResponse, answered: Answered, fault: QueryFault | undefined) {
  const { status, headers, body } = answered
  if (fault === 'reset') {
    request.socket.resetAndDestroy()
    return
  }
  if (fault !== 'truncated') {
    response.writeHead(status, headers).end(body)
    return
  }
  const bytes = Buffer.from(body)
  response.writeHead(status, { ...headers, 'content-length': bytes.length })
  response.write(bytes.subarray(0, bytes.length / 2), () => request.socket.destroy())
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

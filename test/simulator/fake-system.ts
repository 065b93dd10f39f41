import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadMerchants } from '../../src/providers/merchants.ts'
import type { Answer, VerifiedMessage } from '../../src/providers/provider.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { createKeys, type KeyOptions } from '../../src/simulator/create-keys.ts'
import type { SenderKeys } from '../../src/simulator/keys.ts'

export const TOKEN = 'test-token'

/** A callback that a gateway of the fake system verified and answered with success. */
export interface Accepted {
  readonly gateway: number
  readonly provider: string
  readonly merchant: string
  readonly message: VerifiedMessage
  readonly body: string
  readonly socket: number
  /** `Wechatpay-Serial`, of its callbacks alone. */
  readonly serial: string | undefined
}

export interface FakeSystem {
  readonly directory: string
  readonly keys: readonly SenderKeys[]
  readonly gateways: readonly string[]
  readonly api: { url: string; token: string }
  readonly accepted: Accepted[]
  readonly refused: { provider: string; kind: string }[]
  /** By out_trade_no, as the api was asked to create them. */
  readonly created: ReadonlyMap<string, { merchant: string; amount_minor: number; currency: string }>
  /** `merchant/out_trade_no` that the api was asked to close before a payment of it was accepted. */
  readonly closed: ReadonlySet<string>
  /** Callbacks whose sender went away in the middle. */
  cutOff: number
  /** Answers the n-th callback (from 1) instead of the gateway; `hang` answers never. */
  interfere: (n: number) => Answer | 'hang' | undefined
  /** Answers the n-th request to the api (from 1) instead of it; `hang` answers never. */
  interfereWithApi: (n: number) => number | 'hang' | undefined
  /** As new, but for the keys. */
  readonly reset: () => void
  readonly close: () => void
}

/** Two gateways that really verify, and an api; no Kafka, no database. */
export async function createFakeSystem(
  merchants: readonly string[] = ['shop'],
  options: KeyOptions = {},
): Promise<FakeSystem> {
  const directory = mkdtempSync(join(tmpdir(), 'simulation-'))
  const merchantsDir = join(directory, 'merchants')
  const sendersDir = join(directory, 'senders')
  const keys = await createKeys({ merchantsDir, sendersDir }, merchants, new Date(), options)
  const known = loadMerchants(merchantsDir)
  const created = new Map<string, { merchant: string; amount_minor: number; currency: string }>()
  const closed = new Set<string>()
  const sockets = new Map<unknown, number>()
  let callbacks = 0
  let requests = 0

  const receive = (gateway: number) => async (request: IncomingMessage, response: ServerResponse) => {
    const rawBody = await bodyOf(request).catch(() => undefined)
    if (rawBody === undefined) return system.cutOff++
    const [, , provider = '', merchant = ''] = request.url?.split('/') ?? []
    const answers = PROVIDERS.get(provider)?.answers
    const bound = known.find(provider, merchant)
    if (answers === undefined || bound === undefined) throw new Error(`unknown address ${request.url}`)
    const answer = ({ status, contentType, body }: Answer) =>
      response.writeHead(status, { 'content-type': contentType }).end(body)
    const instead = system.interfere(++callbacks)
    if (instead === 'hang') return
    if (instead !== undefined) return answer(instead)
    const headers = request.headers as Record<string, string>
    const verdict = bound.verify({ headers, repeatedHeaders: [], rawBody }, new Date())
    if (verdict.kind === 'refused') {
      system.refused.push({ provider, kind: verdict.rejection.kind })
      return answer(answers.refusal(verdict.rejection))
    }
    const socket = sockets.get(request.socket) ?? sockets.size
    sockets.set(request.socket, socket)
    for (const message of verdict.messages)
      system.accepted.push({
        gateway,
        provider,
        merchant,
        message,
        body: rawBody.toString(),
        socket,
        serial: headers['wechatpay-serial'],
      })
    return answer(answers.success)
  }
  const create = async (request: IncomingMessage, response: ServerResponse) => {
    const instead = system.interfereWithApi(++requests)
    const [, , , shop = '', number = '', verb] = request.url?.split('/') ?? []
    if (verb === 'close') {
      await bodyOf(request)
      const isPaid = system.accepted.some(({ merchant, message: { outTradeNo, facts } }) => {
        return (
          merchant === shop && outTradeNo === number && facts.some((fact) => fact.eventType === 'payment_succeeded')
        )
      })
      if (!isPaid) closed.add(`${shop}/${number}`)
      return response.writeHead(isPaid ? 409 : 200, { 'content-type': 'application/json' }).end('{}')
    }
    const { orders } = JSON.parse((await bodyOf(request)).toString()) as { orders: OrderBody[] }
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (instead === 'hang') return
    if (instead !== undefined) return answer(instead, {})
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return answer(401, { title: 'no' })
    return answer(200, {
      results: orders.map((order) => {
        const status = created.has(order.out_trade_no) ? 200 : 201
        created.set(order.out_trade_no, order)
        return { status }
      }),
    })
  }
  const servers = await Promise.all([serve(receive(0)), serve(receive(1)), serve(create)])
  const [first = '', second = '', api = ''] = servers.map((server) => `http://127.0.0.1:${portOf(server)}`)
  const system: FakeSystem = {
    ...{ directory, keys, created, closed, cutOff: 0, gateways: [first, second], api: { url: api, token: TOKEN } },
    ...{ accepted: [], refused: [], interfere: () => undefined, interfereWithApi: () => undefined },
    reset: () => {
      created.clear()
      closed.clear()
      system.cutOff = 0
      system.accepted.length = system.refused.length = callbacks = requests = 0
      system.interfere = system.interfereWithApi = () => undefined
    },
    close: () => {
      for (const server of servers) server.close().closeAllConnections()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  return system
}

interface OrderBody {
  readonly merchant: string
  readonly out_trade_no: string
  readonly amount_minor: number
  readonly currency: string
}
const portOf = (server: Server) => (server.address() as AddressInfo).port

const serve = (handle: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>) =>
  new Promise<Server>((resolve) => {
    const server = createServer((request, response) => void handle(request, response))
    server.listen(0, '127.0.0.1', () => resolve(server))
  })

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { QueryAnswer, QueryClient, QueryTarget } from '../../src/providers/query.ts'
import { loadQueryClients } from '../../src/providers/query-clients.ts'
import { createAgents } from '../../src/providers/query-http.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'
import { pointQueriesAt } from '../../src/simulator/create-query-keys.ts'
import type { SenderKeys } from '../../src/simulator/keys.ts'
import type { QueryLine } from '../../src/simulator/log.ts'
import { planOf } from '../../src/simulator/plan.ts'
import type { PlannedCallback, PlannedOrder } from '../../src/simulator/planned.ts'
import type { QueryFault } from '../../src/simulator/query-faults.ts'
import { serveQueries } from '../../src/simulator/query-server.ts'
import type { PaymentProvider } from '../../src/simulator/stories.ts'
import { truthOf } from '../../src/simulator/truth.ts'

const START = new Date('2026-03-04T05:06:07Z')

export interface Told {
  readonly merchant: string
  readonly callback: PlannedCallback
}

/** The providers as the simulator serves them, and the clients that ask them with the keys that were made for both. */
export interface QueryWorld {
  readonly directory: string
  readonly queriesDir: string
  readonly keys: readonly SenderKeys[]
  readonly dateOf: (atMs: number) => Date
  now: Date
  /** Added to what has passed. */
  laterMs: number
  readonly clock: Clock
  /** Callbacks of a provider, each with whom it is to. */
  readonly told: (provider: PaymentProvider, ...events: readonly PlannedCallback['event'][]) => Told[]
  /** Serves answers of which all have that fault. @returns the address */
  readonly serve: (fault?: QueryFault) => Promise<string>
  readonly asked: QueryLine[]
  readonly client: (provider: string, merchant: string, url: string, section?: object) => QueryClient
  readonly close: () => Promise<void>
}

export async function createQueryWorld(options: {
  readonly seed: number
  readonly orders: number
  readonly slowMs?: number
}): Promise<QueryWorld> {
  const { seed, slowMs = 60_000 } = options
  console.log(`query world: SEED=${seed}`)
  const directory = mkdtempSync(join(tmpdir(), 'query-world-'))
  const [merchantsDir, sendersDir] = [join(directory, 'merchants'), join(directory, 'senders')]
  const queriesDir = join(directory, 'queries')
  const merchants = ['shop', 'books'] as const
  const keys = await createKeys({ merchantsDir, sendersDir, queriesDir }, merchants, START, { partners: ['books'] })
  const dateOf = (atMs: number) => new Date(Math.floor((START.getTime() + atMs) / 1_000) * 1_000)
  const orders: readonly PlannedOrder[] = planOf({
    ...{ seed, runId: 'Q', merchants: [...merchants], orders: options.orders, deliveriesPerOrder: 1 },
    ...{ spreadMs: 10_000, againMs: 10_000, providers: { wechatpay: 1, 'wechatpay-v2': 1, alipay: 1, stripe: 1 } },
    stories: {
      ...{ refund_failed: 0.1, refunded_partly: 0.2, refunded_fully: 0.1, combined: 0, second_payment: 0 },
      // What is invented, no provider knows of (truth.test.ts).
      ...{ forged: 0, stale: 0, stranger: 0 },
    },
  })
  const clock: Clock = { now: () => world.now, elapsedMs: () => performance.now() + world.laterMs }
  const agents = createAgents()
  const closing: (() => Promise<void>)[] = []
  const asked: QueryLine[] = []
  const world: QueryWorld = {
    ...{ directory, queriesDir, keys, dateOf, clock, asked },
    laterMs: 0,
    // An hour after the run began: all has happened.
    now: new Date(START.getTime() + 3_600_000),
    told: (provider, ...events) =>
      orders
        .flatMap(({ merchant, callbacks }) => callbacks.map((callback) => ({ merchant, callback })))
        .filter(({ callback: { event, transaction } }) => transaction.provider === provider && events.includes(event)),
    serve: async (fault) => {
      const faults = { seed, slowMs, shares: fault === undefined ? {} : { [fault]: 1 } }
      const truth = truthOf(orders, dateOf, clock)
      const server = await serveQueries({ port: 0, keys, truth, clock, faults, record: (line) => asked.push(line) })
      closing.push(server.close)
      return server.url
    },
    client: (provider, merchant, url, section = {}) => {
      pointQueriesAt(queriesDir, url, { requestsPerSec: 1_000, ...section })
      const found = loadQueryClients({ queryKeysDir: queriesDir, merchantsDir, clock, agents }).get(merchant)
      const client = found?.get(provider)
      if (client === undefined) throw new Error(`no client of ${provider} for ${merchant}`)
      return client
    },
    close: async () => {
      agents['http:'].destroy()
      agents['https:'].destroy()
      await Promise.all(closing.map((close) => close()))
      rmSync(directory, { recursive: true })
    },
  }
  return world
}

export const ask = (client: QueryClient, target: QueryTarget): Promise<QueryAnswer> =>
  client.ask(target, new AbortController().signal)

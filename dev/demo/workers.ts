import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { countOf, startCarrier } from '../../examples/carrier/carrier.ts'
import type { SenderKeys } from '../../src/simulator/keys.ts'
import { randomOf } from '../../src/simulator/random.ts'
import * as processes from '../parts/process.ts'
import { say } from '../parts/progress.ts'
import { startService, type Service } from './system.ts'

export interface WorkerCounts {
  /** Parcels that left the carrier, and the events that they left for. */
  readonly shipments: number
  readonly shipped: number
  readonly stockDeducted: number
  readonly pointsGranted: number
  readonly reportsAccepted: number
  /** Events that a person would have to look at. */
  readonly unsettled: number
}
export interface Workers {
  readonly services: readonly Service[]
  /** SIGKILL to the one that ships, in the middle of its work, and a new one. */
  readonly killShipment: () => Promise<Service>
  /** Waits until all events that are in the topics are done and reported. */
  readonly drained: (events: number) => Promise<void>
  readonly counts: () => Promise<WorkerCounts>
  readonly close: () => Promise<void>
}

const NAMES = ['shipment', 'inventory', 'points'] as const
const DRAIN_MS_MAX = 120_000
const STOCK = 1_000_000
/** A carrier as they are: of a hundred parcels four leave without an answer, or with a wrong one. */
const BEHAVIOUR = { loseAnswers: 0.02, failAfter: 0.02, refuseBefore: 0.02, slowMs: 2 }

/** The example workers, each a process of its own, and the carrier that they ship with. */
export async function startWorkers(options: {
  readonly env: NodeJS.ProcessEnv
  readonly databaseUrl: string
  readonly runId: string
  readonly dir: string
  readonly keys: readonly SenderKeys[]
  readonly gatewayUrl: string
  readonly seed: number
}): Promise<Workers> {
  const { databaseUrl, runId, dir, gatewayUrl } = options
  const random = randomOf(options.seed)
  const carrier = await startCarrier(0, () => random.below(1_000_000) / 1_000_000)
  carrier.behave(BEHAVIOUR)
  const keysDir = join(dir, 'worker-keys')
  mkdirSync(keysDir, { recursive: true, mode: 0o700 })
  for (const { merchant, worker } of options.keys) {
    const secret = worker.secrets[0]?.value.export().toString('base64') ?? ''
    writeFileSync(join(keysDir, `${merchant}.key`), `whsec_${secret}`, { mode: 0o600 })
  }
  const start = (name: (typeof NAMES)[number], as: string = name) =>
    startService({
      ...{ name: as, main: `examples/${name}/main.ts`, logDir: join(dir, 'logs') },
      env: {
        ...options.env,
        ...{ DATABASE_URL: databaseUrl, CONSUMER_NAME: `${runId}-${name}`, CARRIER_URL: carrier.url },
        ...{ CARRIER_CALL_MS: '2000', CARRIER_LATE_MS: '1000' },
        ...{ GATEWAY_URL: gatewayUrl, WORKER_KEYS_DIR: keysDir },
      },
    })
  const services: Service[] = await Promise.all(NAMES.map((name) => start(name)))
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  pool.on('error', () => undefined)
  await pool.query('insert into stock values ($1, $2)', ['SKU-1', STOCK])
  const number = async (text: string, values: unknown[] = []) =>
    Number((await pool.query<{ n: string }>(text, values)).rows[0]?.n ?? 0)
  return {
    services,
    killShipment: async () => {
      const [victim] = services
      if (victim === undefined) throw new Error('there is no worker')
      processes.signal(victim.id, 'SIGKILL')
      say(`  SIGKILL to ${victim.name} (pid ${victim.id.pid}), and a new one`)
      const again = await start('shipment', 'shipment-again')
      services.push(again)
      return again
    },
    drained: async (events) => {
      const deadline = performance.now() + DRAIN_MS_MAX
      for (;;) {
        const settled = await number('select count(*) as n from paidonce_consumer.inbox where settled_at is not null')
        const unsent = await number('select count(*) as n from paidonce_consumer.reports where sent_at is null')
        if (settled >= events && unsent === 0) return
        if (performance.now() > deadline) {
          say(`  not drained: ${settled} of ${events} events settled, ${unsent} reports not sent`)
          return
        }
        await sleep(200)
      }
    },
    counts: async () => ({
      ...countOf(carrier.done),
      stockDeducted: STOCK - (await number(`select quantity as n from stock where sku = 'SKU-1'`)),
      pointsGranted: await number('select count(*) as n from points_ledger'),
      reportsAccepted: await number('select count(*) as n from paidonce_consumer.reports where sent_at is not null'),
      unsettled: await number(`select count(*) as n from paidonce_consumer.inbox where state in ('unsettled', 'dead')`),
    }),
    close: async () => {
      await pool.end()
      await Promise.all(services.map((service) => service.stop()))
      await carrier.close()
    },
  }
}

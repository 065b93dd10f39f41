import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { SHIPMENT_TOPIC } from '../../src/schemas/topics.ts'
import { createInstallation } from '../../test/helpers/installation.ts'
import { processEnv, stackEnv } from '../../test/helpers/stack.ts'
import { countShipped } from './count-shipped.ts'
import type { FormName } from './forms/all.ts'
import { MOMENT_MS_MAX, WORKERS, type System } from './system.ts'
import type { FromWorker, ToWorker } from './worker.ts'

const TABLES = `
  create table purchases (out_trade_no text primary key, status text not null default 'pending', version int not null default 0);
  create table processed (message text primary key);
  create table payment_events (out_trade_no text, event_type text, unique (out_trade_no, event_type));`

interface Worker {
  readonly child: ChildProcess
  readonly waiting: Map<number, (success: boolean) => void>
  readonly ready: Promise<void>
}

/** Two workers of a form on a database and a topic of their own. */
export async function startForm(name: FormName, redisUrl: string): Promise<System> {
  const installation = await createInstallation()
  const { database, topics } = installation
  await database.pool.query(TABLES)
  const topic = topics.name(SHIPMENT_TOPIC)
  const env = processEnv({ FORM: name, DATABASE_URL: database.url, REDIS_URL: redisUrl, TOPIC: topic })
  const workers = Array.from({ length: WORKERS }, () => startWorker(env))
  await Promise.all(workers.map(({ ready }) => ready))
  let lastId = 0

  const end = async ({ child }: Worker) => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  return {
    name,
    // A form has shipped all that it ever will when its answers are here.
    settled: () => Promise.resolve(),
    createOrders: async (outTradeNos) => {
      await database.pool.query('insert into purchases (out_trade_no) select unnest($1::text[])', [outTradeNos])
    },
    deliver: async (callback, at) => {
      const worker = workers[at % WORKERS]
      if (worker === undefined) return false
      await worker.ready
      const id = ++lastId
      return new Promise((resolve) => {
        worker.waiting.set(id, resolve)
        worker.child.send({ id, callback } satisfies ToWorker, (error) => {
          if (error !== null) resolve(false)
        })
      })
    },
    killOne: async (at, moment) => {
      const worker = workers[at % WORKERS]
      if (worker === undefined) return
      const dead = new Promise((resolve) => worker.child.once('exit', resolve))
      worker.child.send({ dieAt: moment } satisfies ToWorker)
      const timer = setTimeout(() => worker.child.kill('SIGKILL'), MOMENT_MS_MAX)
      await dead
      clearTimeout(timer)
      const next = startWorker(env)
      workers[at % WORKERS] = next
      await next.ready
    },
    shipped: () => countShipped(stackEnv().KAFKA_BROKERS, topic, topics.partitions, () => true),
    stop: async () => {
      await Promise.all(workers.map(end))
      await installation.drop()
    },
  }
}

function startWorker(env: NodeJS.ProcessEnv): Worker {
  const child = fork(join(import.meta.dirname, 'worker.ts'), { env })
  const waiting = new Map<number, (success: boolean) => void>()
  const ready = new Promise<void>((resolve) => {
    child.on('message', ({ id, success }: FromWorker) => {
      if (id < 0) resolve()
      waiting.get(id)?.(success)
      waiting.delete(id)
    })
    child.once('exit', () => resolve())
  })
  // What it was at when it died gets no answer, and is sent again.
  child.once('exit', () => {
    for (const settle of waiting.values()) settle(false)
    waiting.clear()
  })
  return { child, waiting, ready }
}

import type pg from 'pg'
import type { CreateConnection, OwnConnection } from '../../../src/runtime/postgres.ts'
import type { Server, Session, Statement } from './server.ts'
import type { Fate } from '../world/fates.ts'
import type { Host } from '../world/queue.ts'
import type { Network } from '../world/network.ts'
import type { Random } from '../world/random.ts'
import type { Scheduler } from '../world/scheduler.ts'

/** What may happen to a connection; each a probability per statement. */
export interface WireFaults {
  /** It is cut; whether the statement arrived nobody knows. */
  cut: number
  /** The answer never comes: node-postgres gives up. */
  hang: number
  /** The server does not learn that the client is gone: the session stays, with its locks. */
  linger: number
}

export interface ConnectionWorld {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly network: Network
  readonly server: Server
  readonly wire: WireFaults
  /** Hears what of it has happened. */
  readonly onWire?: ((what: keyof WireFaults) => void) | undefined
}

const ANSWER_MS_MAX = 40_000
/** A statement that comes later finds that the lane's next owner has ended its session. */
const LATE_MS_MAX = 60
type Answer = { rows: readonly unknown[]; command: string }
interface Pending {
  readonly what: string
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/** Makes connections of one process; each is what the product takes a `pg.Client` for. */
export const simulatedConnections =
  (host: Host, world: ConnectionWorld): CreateConnection =>
  (config) =>
    createSimulatedConnection(host, world, config)

function createSimulatedConnection(host: Host, world: ConnectionWorld, config: pg.ClientConfig): OwnConnection {
  const { scheduler, random, network, server, wire, onWire } = world
  const listeners = new Map<string, ((error: Error) => void)[]>()
  const pending: Pending[] = []
  let session: Session | undefined
  let closed: Error | undefined
  let requestAtMs = 0
  let answerAtMs = 0

  const tell = (event: string, error: Error) => listeners.get(event)?.forEach((listener) => listener(error))
  /** In the order in which they were sent, each way. */
  const send = (what: string, run: () => void) => {
    requestAtMs = Math.max(scheduler.nowMs() + network.latencyMs(), requestAtMs + 0.001)
    scheduler.at(requestAtMs - scheduler.nowMs(), undefined, what, run)
  }
  const hear = (what: string, run: () => void) => {
    answerAtMs = Math.max(scheduler.nowMs() + network.latencyMs(), answerAtMs + 0.001)
    scheduler.at(answerAtMs - scheduler.nowMs(), host, what, run)
  }
  /** The client learns that the connection is no more. */
  const close = (error: Error, isSurprise: boolean) => {
    if (closed !== undefined) return
    closed = error
    for (const { reject } of pending.splice(0)) reject(error)
    if (isSurprise) tell('error', error)
    tell('end', error)
  }
  const endOfServer = () => {
    const ended = session
    if (ended === undefined) return
    if (random.chance(wire.linger)) {
      onWire?.('linger')
      return
    }
    send('pg closed', () => server.end(ended))
  }
  const cut = () => {
    const delayMs = random.next() * 5
    scheduler.at(delayMs, host, 'pg cut', () => close(new Error('Connection terminated unexpectedly'), true))
    endOfServer()
  }
  const giveUp = () =>
    void scheduler.at(0, host, 'pg cut', () => close(new Error('Connection terminated unexpectedly'), true))
  const query = (statement: Statement): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (closed !== undefined || session === undefined) {
        reject(closed ?? new Error('Client was closed and is not queryable'))
        return
      }
      const what = statement.name ?? statement.text.trimStart().slice(0, 24).trimEnd()
      const one: Pending = { what, resolve, reject }
      const on = session
      pending.push(one)
      const chance = random.next()
      const isCut = chance < wire.cut
      const isHanging = !isCut && chance - wire.cut < wire.hang
      let fate: Fate | undefined = network.fates.take(host)
      const breakOff = () => {
        giveUp()
        endOfServer()
      }
      if (fate?.kind === 'late') requestAtMs = scheduler.nowMs() + random.next() * random.next() * LATE_MS_MAX
      if (!isCut || random.chance(0.5))
        send(`pg ${what}`, () => {
          if (fate?.kind === 'late' && !on.isGone) fate.done()
          server.execute(on, statement, (error, answer) => {
            if (fate?.kind === 'lost') {
              fate.done()
              breakOff()
            }
            if (fate !== undefined || isHanging || isCut) return
            hear(`pg ${what} answered`, () => {
              const index = pending.indexOf(one)
              if (index < 0) return
              pending.splice(index, 1)
              if (error !== undefined) reject(error)
              else resolve(answer ?? { rows: [], command: '' })
            })
          })
        })
      if (fate?.kind === 'late') breakOff()
      network.fates.sent(host, (given) => {
        fate = given
        if (given.kind === 'late') breakOff()
      })
      if (isCut) {
        onWire?.('cut')
        cut()
      }
      if (isHanging) onWire?.('hang')
      if (isHanging)
        scheduler.at(ANSWER_MS_MAX, host, `pg ${what} unanswered`, () => {
          const index = pending.indexOf(one)
          if (index >= 0) pending.splice(index, 1)[0]?.reject(new Error('Query read timeout'))
        })
    })

  const connection = {
    connect: () =>
      new Promise<void>((resolve, reject) => {
        const fate = network.fates.take(host)
        const expire = () =>
          void scheduler.at(0, host, 'pg connect given up', () => reject(new Error('timeout expired')))
        if (fate?.kind === 'late') {
          expire()
          requestAtMs = scheduler.nowMs() + random.next() * LATE_MS_MAX
        }
        send('pg connect', () => {
          const isUp = server.isUp()
          if (fate !== undefined && isUp) {
            const unheard = server.open(host, config.application_name ?? '')
            fate.done()
            if (fate.kind === 'lost') expire()
            send('pg closed', () => server.end(unheard))
            return
          }
          const opened = isUp ? server.open(host, config.application_name ?? '') : undefined
          if (opened !== undefined) opened.onEnd = (error) => hear('pg ended', () => close(error, true))
          hear('pg connected', () => {
            if (opened === undefined) {
              reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
              return
            }
            session = opened
            resolve()
          })
        })
      }),
    query: (config: string | { name?: string; text: string; values?: unknown[] }, values?: unknown[]) =>
      query(
        typeof config === 'string'
          ? { text: config, values: values ?? [] }
          : { name: config.name, text: config.text, values: config.values ?? values ?? [] },
      ),
    on: (event: string, listener: (error: Error) => void) => {
      listeners.set(event, [...(listeners.get(event) ?? []), listener])
      return connection
    },
    end: () =>
      new Promise<void>((resolve) => {
        if (closed !== undefined) {
          resolve()
          return
        }
        const isBusy = pending.length > 0
        // A statement that is unanswered is cut off; whether it arrived nobody knows.
        if (isBusy) {
          endOfServer()
          scheduler.at(0, host, 'pg cut off', () => {
            close(new Error('Connection terminated'), false)
            resolve()
          })
          return
        }
        endOfServer()
        hear('pg bye', () => {
          close(new Error('Connection terminated'), false)
          resolve()
        })
      }),
  }
  return connection as unknown as OwnConnection
}

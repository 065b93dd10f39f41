import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import * as processes from './process.ts'
import type { Launch, ProcessId } from './process.ts'

/** One running piece of a stack: what a fault test may stop, freeze, kill and start again. */
export interface Part {
  readonly name: string
  readonly id: ProcessId
  readonly logFile: string
  readonly stopSignal: NodeJS.Signals
  /** Orderly: its own stop signal, SIGKILL only after 20 s. */
  readonly stop: () => Promise<void>
  /** SIGKILL to it and its children; resolves when all are gone. */
  readonly kill: () => Promise<void>
  /** SIGSTOP to it and its children; what they hold (sockets, locks) stays held. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** Starts it again on the same port and data (ends it first if it still runs), and waits until it answers. */
  readonly restart: () => Promise<void>
  readonly isAlive: () => boolean
}

export interface PartSpec {
  readonly name: string
  readonly launch: Launch
  readonly stopSignal: NodeJS.Signals
  /** Resolves when it answers as its clients need it; rejects while it does not. Tried every 50 ms. */
  readonly answers: () => Promise<void>
  readonly readyMs: number
}

const STOP_MS_MAX = 20_000

/** Starts a part and waits until it answers. @throws Error with the end of its log when it dies or stays silent */
export async function startPart(spec: PartSpec): Promise<Part> {
  let id = await begin(spec)
  return {
    name: spec.name,
    get id() {
      return id
    },
    logFile: spec.launch.logFile,
    stopSignal: spec.stopSignal,
    stop: () => processes.end(id, spec.stopSignal, STOP_MS_MAX),
    kill: () => processes.kill(processes.family(id)),
    freeze: () => {
      for (const member of processes.family(id)) processes.signal(member, 'SIGSTOP')
    },
    thaw: () => {
      for (const member of processes.family(id)) processes.signal(member, 'SIGCONT')
    },
    restart: async () => {
      await processes.end(id, spec.stopSignal, STOP_MS_MAX)
      id = await begin(spec)
    },
    isAlive: () => processes.isAlive(id),
  }
}

async function begin(spec: PartSpec): Promise<ProcessId> {
  const id = processes.launch(spec.launch)
  const deadline = performance.now() + spec.readyMs
  for (;;) {
    try {
      await spec.answers()
      return id
    } catch (error) {
      const dead = !processes.isAlive(id)
      if (!dead && performance.now() < deadline) {
        await sleep(50)
        continue
      }
      await processes.kill(processes.family(id))
      const reason = dead ? 'ended' : `did not answer within ${spec.readyMs} ms (${String(error)})`
      throw new Error(`${spec.name} ${reason}; ${spec.launch.logFile} ends with:\n${tail(spec.launch.logFile)}`, {
        cause: error,
      })
    }
  }
}

const tail = (file: string) => readFileSync(file, 'utf8').split('\n').slice(-15).join('\n')

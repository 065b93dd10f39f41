import type pg from 'pg'
import type { CreateConnection, OwnConnection } from '../../../src/runtime/postgres.ts'
import { createPlayer } from '../postgres/play-commands.ts'
import { createGate, type Gate } from './gate.ts'
import type { ActorPlan, SessionsPlan } from './plan-sessions.ts'

/** A server, and a look into it. */
export interface SessionsSide {
  readonly url: string
  readonly createConnection: (actor: string) => CreateConnection
  /** Resolves when nothing goes on any more: every statement has its answer, or waits for somebody's lock. */
  readonly settle: (gates: ReadonlyMap<string, Gate>) => Promise<void>
  /** Whose end it waits for in the end. */
  readonly waitsFor: (actor: string) => readonly string[]
  readonly kill: (connection: OwnConnection, actor: string) => Promise<void>
}

const STEPS_MAX = 2_000
const SEEK_MAX = 20
/** BEGIN and two more. */
const INSIDE = 3

/** Sends the statements of all in the plan's order. @returns what each heard, step by step, and who waited for whom */
export async function playSessions({ actors, turns }: SessionsPlan, side: SessionsSide): Promise<string[]> {
  const said: string[] = []
  const gates = new Map<string, Gate>()
  const failures: unknown[] = []
  const waited = new Map<string, string>()
  const look = async (step: string) => {
    await side.settle(gates)
    if (failures.length > 0) throw failures[0]
    for (const [name, { news, state }] of gates) {
      for (const one of news.splice(0)) said.push(`${step} ${name} ${one}`)
      const waits = state === 'sent' ? side.waitsFor(name).join('+') : ''
      if (waits !== '' && waits !== waited.get(name)) said.push(`${step} ${name} waits for ${waits}`)
      waited.set(name, waits)
    }
  }
  for (const actor of actors) {
    const gate = createGate()
    gates.set(actor.name, gate)
    act(actor, gate, side).then(
      () => (gate.state = 'done'),
      (error: unknown) => failures.push(error),
    )
    await look('at first')
  }
  const all = [...gates]
  let steps = 0
  const send = async (gate: Gate, isImpatient: boolean) => {
    if (++steps > STEPS_MAX) throw new Error(`it does not end: ${said.slice(-10).join('\n')}`)
    gate.go(isImpatient)
    await look(String(steps))
  }
  for (const { actor, kind, statements, isSeeking, isImpatient } of turns) {
    const [name, gate] = all[actor] ?? []
    if (name === undefined || gate === undefined) continue
    const [connection] = [...gate.connections].reverse()
    if (kind === 'kill' && connection !== undefined) {
      said.push(`${steps} ${name} is killed`)
      await side.kill(connection, name)
      await look(String(steps))
      continue
    }
    const goesOn = (sent: number) => sent < statements || (isSeeking && sent < SEEK_MAX && gate.depth() < INSIDE)
    for (let sent = 0; gate.state === 'held' && goesOn(sent); sent++) await send(gate, isImpatient)
  }
  // Everybody ends what it has begun.
  while (all.some(([, { state }]) => state !== 'done'))
    for (const [, gate] of all) while (gate.state === 'held') await send(gate, false)
  return said
}

async function act({ name, lane, commands }: ActorPlan, gate: Gate, side: SessionsSide): Promise<void> {
  const createConnection: CreateConnection = (config) => gate.wrap(side.createConnection(name)(config))
  const player = createPlayer({ url: side.url, createConnection, pool: poolOf(createConnection, side.url, gate) })
  const isLost = () => gate.connections.size === 0
  const fence = async () => {
    while (lane !== undefined && isLost()) gate.news.push(await player.run({ kind: 'fence', lane, isOwn: true }))
  }
  for (const command of commands) {
    await fence()
    gate.news.push(await player.run(command))
  }
  for (const connection of gate.connections) await connection.end()
}

/** One connection, made anew when it is lost. */
function poolOf(createConnection: CreateConnection, connectionString: string, gate: Gate): pg.Pool {
  let client: OwnConnection | undefined
  const connect = async () => {
    if (client === undefined || gate.connections.size === 0) {
      client = createConnection({ connectionString, application_name: 'api' })
      await client.connect()
    }
    return Object.assign(client, { release: () => undefined })
  }
  return {
    connect,
    query: async (...args: [string, unknown[]]) => (await connect()).query(...args),
  } as unknown as pg.Pool
}

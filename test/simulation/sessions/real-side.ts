import type pg from 'pg'
import { until } from '../../helpers/until.ts'
import { createConnection } from '../../../src/runtime/postgres.ts'
import type { Gate } from './gate.ts'
import type { SessionsSide } from './play-sessions.ts'

interface Backend {
  readonly pid: number
  readonly state: string
  readonly blockers: readonly number[]
}
const pidOf = (connection: unknown): number => (connection as { processID: number }).processID

/** @param pool of the same database, for looking at who waits */
export function realSide(url: string, pool: pg.Pool): SessionsSide {
  let backends = new Map<number, Backend>()
  let gates: ReadonlyMap<string, Gate> = new Map()
  const owners = new Map<number, string>()
  const blockersOf = (actor: string): readonly Backend[] => {
    const pids = [...(gates.get(actor)?.connections ?? [])].map(pidOf)
    const found = pids.flatMap((pid) => backends.get(pid) ?? []).filter(({ blockers }) => blockers.length > 0)
    return found.flatMap(({ blockers }) => blockers.flatMap((pid) => backends.get(pid) ?? []))
  }
  const rootsOf = (backend: Backend, path: readonly number[] = []): readonly string[] => {
    if (path.includes(backend.pid)) return ['a circle']
    if (backend.blockers.length === 0) return [owners.get(backend.pid) ?? String(backend.pid)]
    return backend.blockers.flatMap((pid) => {
      const next = backends.get(pid)
      return next === undefined ? [String(pid)] : rootsOf(next, [...path, backend.pid])
    })
  }
  const look = async () => {
    for (const [actor, { connections }] of gates) for (const one of connections) owners.set(pidOf(one), actor)
    const { rows } = await pool.query<Backend>(
      `select pid, state, pg_blocking_pids(pid) as blockers from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and pid = any($1)`,
      [[...owners.keys()]],
    )
    backends = new Map(rows.map((row) => [row.pid, row]))
  }
  /** One that has just failed may hold its locks for a moment after it has said so. */
  const isSound = ({ state, blockers }: Backend) => state.startsWith('idle in transaction') || blockers.length > 0
  const isQuiet = async () => {
    if ([...gates.values()].some(({ state }) => state === 'busy')) return false
    const asked = [...gates.values()].flatMap(({ state, news }) => `${state}${news.length}`).join()
    await look()
    for (const [actor, { state, connections, isImpatient }] of gates) {
      for (const one of connections) if (!backends.has(pidOf(one))) return false
      if (state !== 'sent') continue
      const blockers = blockersOf(actor)
      if (isImpatient() || blockers.length === 0 || !blockers.every(isSound)) return false
      if (blockers.some((backend) => rootsOf(backend).includes('a circle'))) return false
    }
    return asked === [...gates.values()].flatMap(({ state, news }) => `${state}${news.length}`).join()
  }
  return {
    url,
    createConnection: () => createConnection,
    settle: async (given) => {
      gates = given
      await until('nothing goes on any more', isQuiet, 60_000)
    },
    waitsFor: (actor) => [...new Set(blockersOf(actor).flatMap((backend) => rootsOf(backend)))].sort(),
    kill: async (connection) => {
      await pool.query('select pg_terminate_backend($1, 5000)', [pidOf(connection)])
    },
  }
}

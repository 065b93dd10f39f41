import type { OwnConnection } from '../../../src/runtime/postgres.ts'

/** Its connection is gone; how that is said differs. */
export class Lost extends Error {
  override readonly name = 'Lost'
}

/** Where an actor's statements wait until the script lets them go. */
export interface Gate {
  /** `held`: a statement may be sent; `sent`: it has no answer yet. */
  state: 'busy' | 'held' | 'sent' | 'done'
  /** Gives a lock up at once. */
  readonly isImpatient: () => boolean
  /** So many statements of its transaction are answered; 0: it is in none. */
  readonly depth: () => number
  readonly go: (isImpatient: boolean) => void
  /** What has happened since the last look. */
  readonly news: string[]
  /** Its connections that it has not given up. */
  readonly connections: Set<OwnConnection>
  readonly wrap: (client: OwnConnection) => OwnConnection
}

const PATIENT_MS = 600_000
const IMPATIENT_MS = 30
type Config = string | { readonly name?: string; readonly text: string; readonly values?: readonly unknown[] }

export function createGate(): Gate {
  const connections = new Set<OwnConnection>()
  let letGo: ((isImpatient: boolean) => void) | undefined
  let localMs: number | undefined
  let lockMs = PATIENT_MS
  let depth = 0
  const gate: Gate = {
    ...{ state: 'busy', news: [], connections },
    isImpatient: () => (localMs ?? lockMs) < PATIENT_MS,
    depth: () => depth,
    go: (isImpatient) => letGo?.(isImpatient),
    wrap: (client) => {
      const lose = () => void connections.delete(client)
      client.on('error', lose)
      client.on('end', lose)
      const send = async (text: string, config: Config, values: readonly unknown[] | undefined) => {
        try {
          return await (client.query as (...given: unknown[]) => Promise<unknown>)(config, patient(text, values))
        } catch (error) {
          const { code } = error as { code?: string }
          throw code === undefined || code.startsWith('57P') ? new Lost('the connection is gone') : error
        }
      }
      const query = async (config: Config, values?: readonly unknown[]) => {
        const text = (typeof config === 'string' ? config : config.text).trim()
        // It has half a second, by the clock.
        if (text.startsWith('update lanes set is_owned = false')) throw new Lost('never let go')
        const isImpatient = await new Promise<boolean>((resolve) => {
          letGo = resolve
          gate.state = 'held'
        })
        letGo = undefined
        gate.state = 'sent'
        const what = (typeof config === 'string' ? undefined : config.name) ?? text.slice(0, 30).replaceAll(/\s+/g, ' ')
        try {
          const wantedMs = isImpatient ? IMPATIENT_MS : PATIENT_MS
          if (depth === 0 && wantedMs !== lockMs) {
            lockMs = wantedMs
            await send('', `select set_config('lock_timeout', $1, false)`, [`${lockMs}ms`])
          }
          const [, local] = /^set local lock_timeout = (\d+)$/.exec(text) ?? []
          if (local !== undefined) localMs = Number(local)
          const answer = await send(text, config, values)
          if (/^select set_config\((name|'application_name')/.test(text)) lockMs = PATIENT_MS
          if (depth > 0 || text.startsWith('begin')) depth++
          gate.news.push(`${what}: answered`)
          return answer
        } catch (error) {
          gate.news.push(`${what}: ${(error as { code?: string }).code ?? (error as Error).name}`)
          if (error instanceof Lost) [depth, lockMs] = [0, -1]
          throw error
        } finally {
          if (/^(commit|rollback)/.test(text)) depth = 0
          if (depth === 0) localMs = undefined
          gate.state = 'busy'
        }
      }
      const wrapped = {
        connect: async () => {
          await client.connect()
          lockMs = -1
          connections.add(client)
        },
        query,
        end: () => {
          lose()
          return client.end()
        },
        on: (event: 'error', listener: (error: Error) => void) => {
          client.on(event, listener)
          return wrapped
        },
      }
      return wrapped as unknown as OwnConnection
    },
  }
  return gate
}

/** Who waits is a matter of the script, and not of how long a statement took on a busy machine. */
function patient(text: string, values: readonly unknown[] | undefined): readonly unknown[] | undefined {
  const long = `${PATIENT_MS}ms`
  if (text.startsWith('select set_config(name, setting')) {
    const names = values?.[0] as readonly string[]
    const settings = values?.[1] as readonly string[]
    return [names, settings.map((value, index) => (/_timeout$/.test(names[index] ?? '') ? long : value))]
  }
  return text.startsWith(`select set_config('application_name'`) ? [values?.[0], long] : values
}

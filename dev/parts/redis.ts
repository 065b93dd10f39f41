import { mkdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { startPart, type Part } from './part.ts'
import { choosePort } from './ports.ts'
import { REDIS, requirePrograms } from './prerequisites.ts'

export interface RedisOptions {
  /** Its working folder, and where its log is written. */
  readonly dir: string
  readonly preferredPort?: number
  /** More settings of redis.conf by name; the default is no persistence at all: a restart forgets everything. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface Redis extends Part {
  /** What `REDIS_URL` is set to. */
  readonly url: string
  readonly port: number
}

/** Starts a redis-server of one's own on the loopback; the one that Debian's package may run is left alone. */
export async function startRedis(options: RedisOptions): Promise<Redis> {
  const [command = ''] = await requirePrograms([REDIS])
  mkdirSync(options.dir, { recursive: true })
  const port = await choosePort(options.preferredPort)
  const settings: Record<string, string> = {
    ...{ port: String(port), bind: '127.0.0.1', dir: options.dir, daemonize: 'no' },
    ...{ save: '', appendonly: 'no' },
    ...options.settings,
  }
  const part = await startPart({
    name: 'redis',
    launch: {
      command,
      args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
      logFile: join(options.dir, 'redis.log'),
      cwd: options.dir,
    },
    stopSignal: 'SIGTERM',
    readyMs: 10_000,
    answers: () => ping(port),
  })
  const password = settings['requirepass'] === undefined ? '' : `:${encodeURIComponent(settings['requirepass'])}@`
  return Object.defineProperties(
    { url: `redis://${password}127.0.0.1:${port}`, port },
    Object.getOwnPropertyDescriptors(part),
  ) as Redis
}

/** Asking for a password is an answer; `LOADING` is none. */
function ping(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1', timeout: 1_000 }, () => socket.write('PING\r\n'))
    socket.once('data', (bytes) => {
      socket.destroy()
      const line = bytes.toString('latin1')
      if (/^(\+PONG|-NOAUTH)/.test(line)) resolve()
      else reject(new Error(`PING was answered ${line.trim()}`))
    })
    socket.once('timeout', () => socket.destroy(new Error('PING was not answered within 1 s')))
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the connection was closed')))
  })
}

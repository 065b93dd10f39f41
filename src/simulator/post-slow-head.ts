import { connect } from 'node:net'
import type { Clock } from '../runtime/clock.ts'
import type { Heard } from './log.ts'

/** Often enough that a server which only looks for silence waits for ever. */
const LINE_MS = 200

interface Heads {
  readonly url: string
  readonly path: string
  readonly answerMsMax: number
  readonly clock: Clock
}

/** Writes the lines of a head one by one and never its end, until somebody has had enough. Never throws. */
export function postSlowHead({ url, path, answerMsMax, clock }: Heads) {
  const startedMs = clock.elapsedMs()
  return new Promise<{ latencyMs: number; status: number | null; heard: Heard }>((resolve) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let answer = ''
    const tick = setInterval(() => socket.write('x-and: another\r\n'), LINE_MS)
    const patience = setTimeout(() => socket.destroy(), answerMsMax)
    socket.write(`POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\n`)
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1').slice(0, 64)))
    // Whoever ends a connection has no more to say than it has said.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(tick)
      clearTimeout(patience)
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]
      const heard = status === undefined ? 'no_answer' : status.startsWith('2') ? 'success' : 'failure'
      resolve({ latencyMs: clock.elapsedMs() - startedMs, status: status === undefined ? null : Number(status), heard })
    })
  })
}

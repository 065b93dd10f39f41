import { createServer } from 'node:net'
import { randomInt } from 'node:crypto'

/**
 * Below Linux's ephemeral range (32768 and up): a client that redials a stopped broker on an ephemeral port can be
 * given that very port as its own and connect to itself, and the broker then cannot come back.
 */
const LOW = 20_000
const HIGH = 32_000
const given = new Set<number>()

/** True if nothing listens on the port of the loopback. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/** The preferred port if it is free, else any free one; never the same twice in one process. */
export async function choosePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && !given.has(preferred) && (await isFree(preferred))) return take(preferred)
  for (let tries = 0; tries < 200; tries++) {
    const port = randomInt(LOW, HIGH)
    if (!given.has(port) && (await isFree(port))) return take(port)
  }
  throw new Error(`no free port between ${LOW} and ${HIGH}`)
}

function take(port: number): number {
  given.add(port)
  return port
}

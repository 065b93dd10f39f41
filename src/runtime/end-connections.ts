import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'

const END_MS_MAX = 2_000

/** Ends connections in order. A server that is frozen never says goodbye, and would keep the process: then they are cut. */
export async function endConnections(end: () => Promise<void>, clients: Iterable<pg.ClientBase>): Promise<void> {
  const ended = end().catch(() => undefined)
  await Promise.race([ended, delay(END_MS_MAX, undefined, { ref: false })])
  // node-postgres has no other way to a connection's socket.
  for (const client of clients)
    (client as unknown as { connection?: { stream?: { destroy: () => void } } }).connection?.stream?.destroy()
}

import type pg from 'pg'
import type { CreateConnection, OwnConnection } from '../../../src/runtime/postgres.ts'

/** What the api and the tools take a `pg.Pool` for: a connection for each piece of work. */
export function simulatedPool(createConnection: CreateConnection, applicationName: string): pg.Pool {
  const connect = async () => {
    const client = createConnection({ application_name: applicationName })
    client.on('error', () => undefined)
    await client.connect()
    return Object.assign(client, { release: () => void client.end().catch(() => undefined) })
  }
  const pool = {
    connect,
    query: async (...args: Parameters<OwnConnection['query']>) => {
      const client = await connect()
      try {
        return await (client.query as (...given: unknown[]) => Promise<unknown>)(...args)
      } finally {
        client.release()
      }
    },
    end: () => Promise.resolve(),
  }
  return pool as unknown as pg.Pool
}

import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** An order's first question comes when it is 15 s old; whoever dies with one holds it for a lease of as long. */
export const ASKING = {
  ...{ QUERY_FIRST_MS: '15000', QUERY_SPREAD_MS: '500', QUERY_SWEEP_MS: '1000' },
  ...{ QUERY_ANSWER_MS_MAX: '3000', QUERY_PUBLISH_MS_MAX: '4000' },
}

/** What signs the merchants' own questions. */
export const queryKeys = (queriesDir: string) =>
  globSync(join(queriesDir, '*.{pem,key}')).map((file) => ({
    ...{ name: basename(file), value: readFileSync(file, 'utf8').trim() },
  }))

const LOOK_MS = 500
const UNASKED = `
select count(*) as n from orders o
left join timers q on q.order_id = o.id and q.kind = 'query' and q.ref = 'payment'
where o.status = 'pending' and q.asked_at is null`

/** Waits until each order of which nobody told has been asked about. @returns of how many that is not so at the deadline */
export async function untilAsked(databaseUrl: string, deadlineMs: number): Promise<number> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  pool.on('error', () => undefined)
  const deadline = performance.now() + deadlineMs
  try {
    for (;;) {
      const { rows } = await pool.query<{ n: string }>(UNASKED)
      const left = Number(rows[0]?.n ?? 0)
      if (left === 0 || performance.now() > deadline) return left
      await sleep(LOOK_MS)
    }
  } finally {
    await pool.end()
  }
}

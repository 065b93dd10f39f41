/**
 * One run of maintenance that kills itself at `CRASH_AT` (or freezes: `CRASH_ACTION=stop`), on the `CRASH_PASSAGE`-th
 * passage. Exits 0 if it never comes there.
 */
import pg from 'pg'
import { ARCHIVE_POINTS } from '../../src/store/archive-orders.ts'
import { maintainAt } from './maintained.ts'

const { DATABASE_URL, CRASH_AT = '', CRASH_ACTION = 'kill', CRASH_PASSAGE = '1', MAINTAIN_AT = '' } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL })
let passages = 0
console.log(JSON.stringify({ starts: ARCHIVE_POINTS.length }))
await maintainAt(
  pool,
  MAINTAIN_AT,
  {},
  {
    reach: (point) => {
      if (point === CRASH_AT && ++passages === Number(CRASH_PASSAGE))
        process.kill(process.pid, CRASH_ACTION === 'stop' ? 'SIGSTOP' : 'SIGKILL')
    },
  },
)
await pool.end()

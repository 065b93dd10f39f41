import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { mustRun, run } from '../../dev/parts/run.ts'
import type { Postgres } from '../../dev/parts/postgres.ts'

/**
 * A base backup of a running server, as `pg_basebackup` makes one: files are copied while they change, and the log of the
 * time makes them whole when the server starts on them. `postgres.restore()` brings it back.
 */
export async function baseBackup(postgres: Postgres): Promise<void> {
  const copy = join(dirname(postgres.dataDir), 'snapshot')
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  try {
    await client.query(`select pg_backup_start('rehearsal', fast => true)`)
    rmSync(copy, { recursive: true, force: true })
    // It complains of files that went meanwhile; the log has what became of them.
    await run('cp', ['-a', postgres.dataDir, copy])
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => false)',
    )
    await keepLog(postgres)
    rmSync(join(copy, 'postmaster.pid'), { force: true })
    writeFileSync(join(copy, 'backup_label'), rows[0]?.labelfile ?? '')
  } finally {
    await client.end()
  }
}

/** Adds the server's log as it is now to the backup: restored, it has all that was committed until now. */
export async function keepLog(postgres: Postgres): Promise<void> {
  const log = join(dirname(postgres.dataDir), 'snapshot', 'pg_wal')
  // Beside what is there: the server may have recycled what the backup begins with.
  await mustRun('cp', ['-a', `${join(postgres.dataDir, 'pg_wal')}/.`, log])
}

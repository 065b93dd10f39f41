import { expect, test } from 'vitest'
import { beginAudit, listAudits } from '../../src/store/audit-runs.ts'
import { withDatabase } from '../helpers/database.ts'
import { rowsIn } from '../helpers/maintained.ts'

test('of audits the last 1,000 are kept, with what they found', () =>
  withDatabase(async (_url, pool) => {
    await pool.query(
      `with runs as (insert into audit_runs (actor, since, until) select 'ann', now(), now() from generate_series(1, 1002)
         returning id),
       lanes as (insert into audit_lanes (run_id, lane, report) select id, 0, '{}' from runs)
       insert into audit_findings (run_id, lane, finding, document) select id, 0, 'missing', '{}' from runs`,
    )
    const { id } = await beginAudit(pool, { actor: 'bob', sinceMs: 0, untilMs: 1, scope: null })
    expect([await rowsIn(pool, 'audit_runs'), await rowsIn(pool, 'audit_lanes')]).toEqual([1_000, 999])
    expect(await rowsIn(pool, 'audit_findings')).toBe(999)
    expect((await listAudits(pool, 1))[0]).toMatchObject({ id, actor: 'bob' })
  }))

import type pg from 'pg'
import { OffsetGone } from '../../runtime/kafka/partition-reader.ts'
import type { TransactionStep } from '../../runtime/postgres.ts'
import { readAuditLanes, saveAuditLane, type AuditRun } from '../../store/audit-runs.ts'
import { listLanes } from '../../store/lane-row.ts'
import { auditLane, type LaneReport } from './audit-lane.ts'
import { stored } from './finding.ts'
import { reachNothing, type AuditRequest } from './request.ts'

const TRIES_MAX = 5

/** One lane after another; those that a run which was stopped had done are not read again. */
export async function auditLanes(
  pool: pg.Pool,
  run: AuditRun,
  options: Parameters<typeof auditLane>[1],
  { onProgress, reach = reachNothing }: AuditRequest,
): Promise<LaneReport[]> {
  const done = await readAuditLanes(pool, run.id)
  const reports: LaneReport[] = []
  for (const { lane } of await listLanes(pool, options.inputTopic)) {
    const known = done.get(lane)
    if (known !== undefined) {
      reports.push(known as LaneReport)
      continue
    }
    const { report, findings } = await auditWhole(lane, options)
    await reach('audit_lane_judged')
    const onStep = (step: TransactionStep) => (step === 'before_begin' ? undefined : reach(`audit_lane_${step}`))
    await saveAuditLane(pool, run.id, { lane, report, findings: findings.map(stored) }, onStep)
    reports.push(report)
    onProgress(`lane ${lane}: ${report.events} events, ${report.messages} messages`)
  }
  return reports
}

/** A topic whose beginning retention removes while it is read is read again: what is gone then is `topic_trimmed`. */
async function auditWhole(lane: number, options: Parameters<typeof auditLane>[1]): ReturnType<typeof auditLane> {
  for (let tries = 1; ; tries++)
    try {
      return await auditLane(lane, options)
    } catch (error) {
      if (!(error instanceof OffsetGone) || tries === TRIES_MAX) throw error
    }
}

import type { Command } from 'commander'
import { listAudits, type AuditRun } from '../store/audit-runs.ts'
import { withDatabase } from './connect.ts'
import { integer } from './options.ts'
import { isoOf, table } from './render.ts'
import type { Run } from './run-cli.ts'

export const addAuditList = (noun: Command, run: Run) =>
  noun
    .command('list')
    .description('audits that were run, the latest first')
    .option('--limit <count>', 'at most so many', integer(1, 1_000), 20)
    .action(({ limit }: { limit: number }, command: Command) =>
      run(async ({ env }) => {
        const runs = await withDatabase(env, (pool) => listAudits(pool, limit))
        const rows = runs.map((one) => [
          ...[one.id, isoOf(one.startedAtMs), one.actor, isoOf(one.sinceMs), isoOf(one.untilMs)],
          ...[one.result ?? 'not finished', sumOf(one), one.digest?.slice(0, 12)],
        ])
        return {
          json: { audits: runs.map(view) },
          text: table(['run', 'started', 'by', 'since', 'until', 'result', 'findings', 'digest'], rows),
        }
      }, command),
    )

interface Report {
  readonly counts?: Readonly<Record<string, number>>
}
const sumOf = ({ report }: AuditRun) =>
  Object.values((report as Report | null)?.counts ?? {}).reduce((sum, count) => sum + count, 0)

const view = ({ id, actor, sinceMs, untilMs, startedAtMs, finishedAtMs, result, digest, report }: AuditRun) => ({
  ...{ run: id, actor, since: isoOf(sinceMs), until: isoOf(untilMs), started_at: isoOf(startedAtMs) },
  ...{ finished_at: isoOf(finishedAtMs), result, digest, report },
})

import type { Command } from 'commander'
import { KAFKA } from '../runtime/config.ts'
import { readLaneStatuses, type LaneStatus } from '../store/lane-status.ts'
import { cliLog, readKafka } from './connect.ts'
import { alarming, isoOf, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { withLanes } from './with-lanes.ts'

export const addLaneStatus = (noun: Command, run: Run) =>
  noun
    .command('status')
    .description('where each lane stands in Postgres and in Kafka; 1 if one is halted')
    .action((_options, command: Command) => run(status, command))

async function status({ env }: CliContext): Promise<Output> {
  const lanes = await withLanes(env, KAFKA, async (pool, ours) => {
    const { settings } = await readKafka(env)
    const { createOffsetReader } = await import('../runtime/kafka/offset-reader.ts')
    const offsets = await createOffsetReader(settings, cliLog(env))
    try {
      return await readLaneStatuses(pool, offsets, ours)
    } finally {
      await offsets.close()
    }
  })
  const halted = lanes.filter((lane) => lane.halted !== undefined)
  const head = ['lane', 'state', 'applied', 'log end', 'lag', 'next', 'ledger', 'not emitted', 'settled', 'fences']
  const rows = lanes.map(({ lane, row, ...of }) => [
    ...[lane, of.halted === undefined ? 'runs' : 'halted', row.appliedOffset, of.logEnd, of.lag, row.nextSeq],
    ...[of.ledger === undefined ? '(none)' : `${of.ledger}${of.hasMark ? '' : ' without its mark'}`],
    ...[of.unemitted ?? '?', row.settledSeq, row.fences],
  ])
  return {
    json: { lanes: lanes.map(laneView) },
    text: [table(head, rows), ...halted.map(explain)].join('\n\n'),
    findings: halted.length > 0,
  }
}

const laneView = ({ lane, row, halted, ...of }: LaneStatus) => ({
  lane,
  halted: halted === undefined ? null : { ...halted, atMs: undefined, at: isoOf(halted.atMs) },
  applied_offset: row.appliedOffset,
  group_offset: of.groupOffset ?? null,
  log_start: of.logStart,
  log_end: of.logEnd,
  lag: of.lag,
  next_seq: row.nextSeq,
  ledger: of.ledger ?? null,
  ledger_has_mark: of.hasMark,
  not_emitted: of.unemitted ?? null,
  settled_seq: row.settledSeq,
  fences: row.fences,
  updated_at: isoOf(row.updatedAtMs),
})

function explain({ lane, halted }: LaneStatus): string {
  if (halted === undefined) return ''
  const title = alarming(`Lane ${lane} is halted: ${halted.reason}`, process.stdout)
  return `${title}, since ${isoOf(halted.atMs) ?? ''}\n${halted.detail}\nRemedy: ${halted.remedy}`
}

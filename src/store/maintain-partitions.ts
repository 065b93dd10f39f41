import type pg from 'pg'
import { dayAfter, monthOf } from '../runtime/days.ts'
import { clearRest, readRest } from './clear-rest.ts'
import { dropPartition, unsettledLanes } from './drop-partition.ts'
import type { GrowthLimits } from './maintain.ts'
import { makePartition, removeLeftovers } from './make-partition.ts'
import { listPartitions, partitionName, PARTITIONED, type PartitionedTable, type Partitions } from './partitions.ts'

/** One thing that was done, or would be in a dry run, or could not be. */
export type PartitionWork =
  | { readonly kind: 'made' | 'dropped'; readonly table: PartitionedTable; readonly name: string }
  | { readonly kind: 'cleared'; readonly table: PartitionedTable; readonly name: string; readonly rows: number }
  /** `why`: for a person. */
  | {
      readonly kind: 'not_made' | 'not_dropped'
      readonly table: PartitionedTable
      readonly name: string
      readonly why: string
    }

/** Whether a person should look: what waits for its day is no finding. */
export const isFinding = ({ kind }: PartitionWork) => kind === 'not_made' || kind === 'not_dropped'

interface Options {
  readonly today: string
  readonly inputTopic: string
  readonly limits: GrowthLimits
  readonly dryRun: boolean
  readonly isStopped: () => boolean
}

const MONTHS_AHEAD = 1

/**
 * Makes what is missing ahead, then drops what is past its time, one after another, each in its own transaction. A table
 * that somebody else keeps locked is left for the next run.
 */
export async function maintainPartitions(client: pg.ClientBase, options: Options): Promise<PartitionWork[]> {
  const work: PartitionWork[] = []
  const each = async <T>(items: readonly T[], act: (item: T) => Promise<PartitionWork>) => {
    for (const item of items) {
      if (options.isStopped()) return
      const done = await act(item)
      work.push(done)
      if ('why' in done && done.why === BUSY) return
    }
  }
  for (const table of PARTITIONED) {
    const { rest } = await listPartitions(client, table)
    if (rest !== undefined && !options.dryRun) await removeLeftovers(client, rest.name)
    const missing = wanted(table, await listPartitions(client, table), options)
    await each(missing, (range) => make(client, table, range, options))
  }
  for (const table of ['deliveries', 'events'] as const) {
    const keepFrom = keepFromOf(table, options)
    const { ranges, rest } = await listPartitions(client, table)
    const past = ranges.filter(({ to }) => to <= keepFrom)
    await each(past, ({ name }) => drop(client, table, name, options))
    if (rest === undefined) continue
    const rows = options.dryRun
      ? (await readRest(client, rest.name, keepFrom)).agedRows
      : await clearRest(client, table, rest.name, keepFrom, options.inputTopic)
    if (rows > 0) work.push({ kind: 'cleared', table, name: rest.name, rows })
  }
  return work
}

/** The first day that is kept. */
const keepFromOf = (table: 'deliveries' | 'events', { today, limits }: Options) =>
  dayAfter(today, -(table === 'deliveries' ? limits.deliveriesDays : limits.eventsDays))

/** The days from today on (of the archive: months) that no partition has. */
function wanted(table: PartitionedTable, { ranges }: Partitions, { today, limits }: Options) {
  const isMonthly = table === 'archived_orders'
  const starts = isMonthly
    ? Array.from({ length: MONTHS_AHEAD + 1 }, (_, ahead) => monthOf(today, ahead))
    : Array.from({ length: limits.aheadDays + 1 }, (_, ahead) => dayAfter(today, ahead))
  return starts
    .filter((day) => !ranges.some(({ from, to }) => from <= day && day < to))
    .map((from) => ({ from, to: isMonthly ? monthOf(from, 1) : dayAfter(from, 1) }))
}

const BUSY = 'its lock was never free; the next run tries again'
const NOT_MADE = {
  taken: 'the default partition holds rows of that day; they go when the day is past its time',
  rest_large: 'the default partition is too large to be read under a lock; days after tomorrow are made',
  busy: BUSY,
} as const

async function make(
  client: pg.ClientBase,
  table: PartitionedTable,
  range: { readonly from: string; readonly to: string },
  { today, dryRun }: Options,
): Promise<PartitionWork> {
  const name = partitionName(table, range.from)
  if (dryRun) return { kind: 'made', table, name }
  const { rest } = await listPartitions(client, table)
  const made = await makePartition(client, table, range, { rest, today })
  return made === 'made' ? { kind: 'made', table, name } : { kind: 'not_made', table, name, why: NOT_MADE[made] }
}

async function drop(
  client: pg.ClientBase,
  table: PartitionedTable,
  name: string,
  { inputTopic, dryRun }: Options,
): Promise<PartitionWork> {
  const lanes = dryRun ? await unsettledLanes(client, table, name, inputTopic) : []
  const dropped = !dryRun
    ? await dropPartition(client, table, name, inputTopic)
    : lanes.length > 0
      ? ({ kind: 'unsettled', lanes } as const)
      : ({ kind: 'dropped' } as const)
  switch (dropped.kind) {
    case 'dropped':
      return { kind: 'dropped', table, name }
    case 'busy':
      return { kind: 'not_dropped', table, name, why: BUSY }
    case 'unsettled':
      return {
        ...{ kind: 'not_dropped', table, name },
        why: `events of lanes ${dropped.lanes.slice(0, 20).join(', ')} may not be in Kafka yet; see: paidonce lane status`,
      }
  }
}

import type { Command } from 'commander'
import { systemClock } from '../runtime/clock.ts'
import { GROWTH, KAFKA, POSTGRES, readConfig } from '../runtime/config.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import type { Growth } from '../store/read-growth.ts'
import type { Maintained } from '../store/maintain.ts'
import { isFinding, type PartitionWork } from '../store/maintain-partitions.ts'
import { withDatabase } from './connect.ts'
import { table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

export const addMaintenanceRun = (noun: Command, run: Run) =>
  noun
    .command('run')
    .description(
      'make and drop partitions, archive finished orders, remove what was settled long ago; 1 if something is left for a person',
    )
    .option('--dry-run', 'say what would be done, change nothing')
    .action((_options, command: Command) => run(maintenance, command))

async function maintenance({ env, dryRun }: CliContext): Promise<Output> {
  const config = readConfig({ ...GROWTH, ...POSTGRES, TOPIC_PREFIX: KAFKA.TOPIC_PREFIX }, env)
  const { SKEW_MS_MAX } = await import('../store/check-clock.ts')
  const { limitsOf, maintain } = await import('../store/maintain.ts')
  const { readGrowth } = await import('../store/read-growth.ts')
  const inputTopic = config.TOPIC_PREFIX + INPUT_TOPIC
  return withDatabase(env, async (pool) => {
    const limits = limitsOf(config)
    const done = await maintain(pool, { clock: systemClock, inputTopic, limits, dryRun, skewMsMax: SKEW_MS_MAX })
    const growth = await readGrowth(pool, systemClock.now().getTime(), undefined)
    return done.kind === 'busy' ? busy : shown(done, growth, dryRun)
  })
}

const busy: Output = {
  json: { result: 'busy' },
  text: 'Another process is at it. A processor is once every MAINTENANCE_INTERVAL_SEC; try again in a moment.',
  undecided: true,
}

function shown(
  { work, archived, removed }: Extract<Maintained, { kind: 'done' }>,
  { bytes, partitioned }: Growth,
  dryRun: boolean,
): Output {
  const sizes = [...bytes].sort(([, a], [, b]) => b - a)
  const kept = Object.entries(archived.kept).map(([reason, count]) => `${reason} ${count}`)
  const gone = Object.entries(removed).flatMap(([name, rows]) => (rows > 0 ? `${name} ${rows}` : []))
  const verb = dryRun ? 'would be archived' : 'archived'
  return {
    json: {
      result: dryRun ? 'would_be_done' : 'done',
      partitions: work,
      archived_orders: archived.orders,
      kept_orders: archived.kept,
      removed,
      tables: sizes.map(([name, size]) => ({ table: name, bytes: size })),
    },
    text: [
      work.length === 0
        ? `partitions: nothing ${dryRun ? 'would be' : 'was'} made or dropped`
        : table(
            ['partition', dryRun ? 'would be' : 'is', 'why'],
            work.map((one) => rowOf(one)),
          ),
      `orders ${verb}: ${archived.orders}${kept.length > 0 ? `; old enough, and kept: ${kept.join(', ')}` : ''}`,
      `settled long ago, ${dryRun ? 'would be removed' : 'removed'}: ${gone.length > 0 ? gone.join(', ') : 'nothing'}`,
      table(
        ['table', 'bytes', 'partitions', 'in none of them'],
        sizes.map(([name, size]) => {
          const parts = [...partitioned].find(([partitionedTable]) => partitionedTable === name)?.[1]
          return [name, size, parts?.count, parts?.restBytes]
        }),
      ),
    ].join('\n\n'),
    findings: work.some(isFinding),
  }
}

const rowOf = (work: PartitionWork) => [
  work.name,
  work.kind.replace('_', ' '),
  'why' in work ? work.why : 'rows' in work ? `${work.rows} rows past their time` : '',
]

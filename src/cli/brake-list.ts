import type { Command } from 'commander'
import { brakeView, listBrakes } from '../store/list-brakes.ts'
import { describeScope } from './brake-scope.ts'
import { withDatabase } from './connect.ts'
import { isoOf, table } from './render.ts'
import type { Run } from './run-cli.ts'

export const addBrakeList = (noun: Command, run: Run) =>
  noun
    .command('list')
    .description('what is kept back, by whom and why, and how much waits since when')
    .action((_options, command: Command) =>
      run(async ({ env }) => {
        const brakes = await withDatabase(env, (pool) => listBrakes(pool, null))
        const head = ['brake', 'state', 'keeps back', 'waiting', 'oldest', 'set at', 'by', 'reason']
        const rows = brakes.map((brake) => [
          ...[brake.id, brake.state, describeScope(brake), brake.waiting],
          ...[brake.oldestSec === null ? null : `${Math.round(brake.oldestSec)} s`, isoOf(brake.setAtMs)],
          ...[brake.setBy, brake.reason],
        ])
        return { json: { brakes: brakes.map(brakeView) }, text: table(head, rows) }
      }, command),
    )

import type { Command } from 'commander'
import type { FactCell } from '../orders/cell.ts'
import { STATUSES, type Status } from '../orders/model.ts'
import { ON_COMMAND } from '../orders/on-command.ts'
import { ON_FACT } from '../orders/on-fact.ts'
import { printStates, sayFact } from '../orders/states.ts'
import type { Run } from './run-cli.ts'

export const addOrderStates = (noun: Command, run: Run) =>
  noun
    .command('states')
    .description('what each fact and each command does in each status, as the processor decides')
    .action((_options, command: Command) =>
      run(
        () =>
          Promise.resolve({
            json: {
              facts: cellsOf<FactCell>(ON_FACT, sayFact),
              commands: cellsOf<{ readonly says: string }>(ON_COMMAND, ({ says }) => says),
            },
            text: printStates().trimEnd(),
          }),
        command,
      ),
    )

/** Status → fact or command → the cell as the printed table has it, its ⇄ too. */
const cellsOf = <Cell>(table: Record<Status, Readonly<Record<string, Cell>>>, say: (cell: Cell) => string) =>
  Object.fromEntries(
    STATUSES.map((status) => [
      status,
      Object.fromEntries(Object.entries(table[status]).map(([name, cell]) => [name, say(cell)])),
    ]),
  )

import type { Command } from 'commander'
import { STATUSES } from '../orders/model.ts'
import { ON_COMMAND } from '../orders/on-command.ts'
import { ON_FACT } from '../orders/on-fact.ts'
import { printStates } from '../orders/states.ts'
import type { Run } from './run-cli.ts'

export const addOrderStates = (noun: Command, run: Run) =>
  noun
    .command('states')
    .description('what each fact and each command does in each status, as the processor decides')
    .action((_options, command: Command) =>
      run(
        () =>
          Promise.resolve({
            json: { facts: saysOf(ON_FACT), commands: saysOf(ON_COMMAND) },
            text: printStates().trimEnd(),
          }),
        command,
      ),
    )

/** Status → fact or command → what the cell says. */
const saysOf = (cells: Record<(typeof STATUSES)[number], object>) =>
  Object.fromEntries(
    STATUSES.map((status) => [
      status,
      Object.fromEntries(
        Object.entries(cells[status] as Record<string, { readonly says: string }>).map(([name, { says }]) => [
          name,
          says,
        ]),
      ),
    ]),
  )

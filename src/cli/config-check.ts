import { Argument, type Command } from 'commander'
import { checkEnvironment, PROCESSES, processesOf, type ProcessName } from './check-environment.ts'
import { checkServices } from './check-services.ts'
import { table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

/** `undecided`: the other side does not answer, so neither good nor bad is known. */
export interface Check {
  readonly check: string
  readonly result: 'ok' | 'problem' | 'undecided' | 'skipped'
  readonly detail: string
}

export const addConfigCheck = (noun: Command, run: Run) =>
  noun
    .command('check')
    .description('check the environment of the processes, and that what it names answers and fits')
    .addArgument(
      new Argument('[processes...]', 'whose environment (all; the reconciler if QUERY_KEYS_DIR is set)').choices(
        PROCESSES,
      ),
    )
    .option('--offline', 'check the values only, connect to nothing')
    .action((processes: ProcessName[], options: { offline?: boolean }, command: Command) =>
      run((context) => checkAll(context, processes, options.offline === true), command),
    )

async function checkAll({ env }: CliContext, named: readonly ProcessName[], offline: boolean): Promise<Output> {
  const checks = checkEnvironment(env, named.length > 0 ? named : processesOf(env))
  if (!offline) checks.push(...(await checkServices(env)))
  const has = (result: Check['result']) => checks.some((check) => check.result === result)
  return {
    json: { checks },
    text: table(
      ['check', 'result', 'detail'],
      checks.map(({ check, result, detail }) => [check, result, detail.split('\n')]),
    ),
    findings: has('problem'),
    undecided: has('undecided'),
  }
}

import { createInterface } from 'node:readline/promises'
import { Command, CommanderError, Option } from 'commander'
import { printableJson, printableLines } from '../runtime/printable.ts'
import { reachNothing, type CliReach } from './crash-points.ts'
import { CliFailure, EXIT, type ExitCode } from './failure.ts'
import { explainFailure } from './explain-failure.ts'
import { alarming, type Format, type Output } from './render.ts'
import { VERBS } from './verbs.ts'
import { watchOutput } from './written.ts'

/** What every verb may use besides its own options. */
export interface CliContext {
  readonly env: NodeJS.ProcessEnv
  /** True: say what would be done, change nothing. */
  readonly dryRun: boolean
  /** Ends the verb unless the person agrees, or `--yes` was given. */
  readonly confirm: (question: string) => Promise<void>
  readonly reach: CliReach
}
/** Runs a verb's work and prints what it found. */
export type Run = (
  work: (context: CliContext) => Promise<Output>,
  command: Command,
  has?: { readonly csv: true },
) => Promise<void>

/** @returns the exit code: 0 ok, 1 findings, 2 usage, 3 could not decide. */
export async function runCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  reach: CliReach = reachNothing,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  const run: Run = async (work, command, has) => {
    const options = command.optsWithGlobals<{ output: Format; dryRun?: boolean; yes?: boolean }>()
    if (options.output === 'csv' && has === undefined)
      throw new CliFailure(EXIT.usage, 'This verb has no CSV.', 'Use --output json.')
    const confirm = (question: string) => (options.yes === true ? Promise.resolve() : ask(question))
    const output = await work({ env, dryRun: options.dryRun === true, confirm, reach })
    process.stdout.write(`${inFormat(output, options.output)}\n`)
    if (output.undecided === true) exitCode = EXIT.undecided
    if (output.findings === true) exitCode = EXIT.findings
  }
  const written = watchOutput()
  try {
    await createProgram(run).parseAsync(args, { from: 'user' }).catch(exceptHelp)
    await written()
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return EXIT.usage
    return report(explainFailure(error), env)
  }
}

function inFormat(output: Output, format: Format): string {
  if (format === 'csv') return output.csv ?? ''
  return format === 'json' ? jsonOf(output.json) : printableLines(output.text)
}
const jsonOf = (value: unknown) => printableJson(JSON.stringify(value, null, 2))

/** Commander throws after it has printed what was asked for, too. */
function exceptHelp(error: unknown): void {
  if (!(error instanceof CommanderError && error.exitCode === 0)) throw error
}

export function createProgram(run: Run): Command {
  const program = new Command('paidonce')
    .description('Each payment is applied once, each fulfillment event is visible once.')
    .addOption(new Option('--output <format>', 'how to print').choices(['table', 'json', 'csv']).default('table'))
    .configureHelp({ showGlobalOptions: true, sortSubcommands: true })
    .addHelpText('after', '\nExit codes: 0 ok, 1 findings, 2 usage, 3 could not decide.')
    .showSuggestionAfterError(true)
  for (const [noun, { about, verbs }] of Object.entries(VERBS)) {
    const parent = noun === '' ? program : program.command(noun).description(about)
    for (const add of verbs) add(parent, run)
  }
  throwInsteadOfExiting(program, program.name())
  return program
}

/** Commander's own errors already have one clear line; here they get our exit codes and no `process.exit`. */
function throwInsteadOfExiting(command: Command, path: string) {
  command.showHelpAfterError(`See: ${path} --help`)
  command.exitOverride().configureOutput({ outputError: (text, write) => write(alarming(printableLines(text))) })
  for (const child of command.commands) throwInsteadOfExiting(child, `${path} ${child.name()}`)
}

async function ask(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new CliFailure(EXIT.usage, `${question} Nobody can answer here.`, 'Add --yes.')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await prompt.question(`${question} [y/N] `).finally(() => prompt.close())
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliFailure(EXIT.usage, 'Not done.', 'Answer y, or add --yes.')
}

function report(failure: CliFailure, env: NodeJS.ProcessEnv): ExitCode {
  process.stderr.write(`${alarming(printableLines(`error: ${failure.message}`))}\n`)
  if (failure.remedy !== undefined) process.stderr.write(`${printableLines(failure.remedy)}\n`)
  const shown = failure.cause instanceof Error ? failure.cause : failure
  if (env['LOG_LEVEL'] === 'debug' || env['LOG_LEVEL'] === 'trace')
    process.stderr.write(`${printableLines(shown.stack ?? '')}\n`)
  return failure.exitCode
}

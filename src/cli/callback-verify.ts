import { readFileSync } from 'node:fs'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { z } from 'zod'
import { loadMerchants } from '../providers/merchants.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { readConfig } from '../runtime/config.ts'
import { CliFailure, EXIT } from './failure.ts'
import { merchantName } from './options.ts'
import { isoOf, listing, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { parseSavedRequest } from './saved-request.ts'

interface Options {
  readonly provider?: string
  readonly merchant?: string
  readonly at?: Date
}

const time = (text: string) => {
  if (!z.iso.datetime({ offset: true }).safeParse(text).success)
    throw new InvalidArgumentError('It must be a time like 2026-11-11T12:30:00+08:00, with its offset or Z.')
  return new Date(text)
}

export const addCallbackVerify = (noun: Command, run: Run) =>
  noun
    .command('verify')
    .description('verify a saved HTTP request with the keys in MERCHANTS_DIR; 1 if it is refused')
    .argument('<file>', 'the request as it was on the wire: request line, headers, empty line, body')
    .addOption(new Option('--provider <name>', 'default: from the request line').choices([...PROVIDERS.keys()]))
    .option('--merchant <merchant>', 'default: from the request line', merchantName)
    .option('--at <time>', 'when it is taken to arrive; default: now', time)
    .action((file: string, options: Options, command: Command) =>
      run((context) => Promise.resolve(verify(context, file, options)), command),
    )

function verify({ env }: CliContext, file: string, options: Options): Output {
  const { MERCHANTS_DIR } = readConfig({ MERCHANTS_DIR: z.string() }, env)
  const saved = parseSavedRequest(readFile(file))
  if (saved.kind === 'malformed')
    throw new CliFailure(EXIT.usage, `${file} ${saved.detail}.`, 'Save the request with its headers, byte for byte.')
  const provider = options.provider ?? saved.path?.provider
  const merchant = options.merchant ?? saved.path?.merchant
  if (provider === undefined || merchant === undefined)
    throw new CliFailure(EXIT.usage, `${file} names no provider and merchant.`, 'Add --provider and --merchant.')
  const bound = loadMerchants(MERCHANTS_DIR).find(provider, merchant)
  if (bound === undefined)
    throw new CliFailure(EXIT.usage, `${merchant} has no ${provider} in MERCHANTS_DIR.`, 'Check both names.')

  const verdict = bound.verify(saved.request, options.at ?? new Date())
  const json = { provider, merchant, ...verdict }
  if (verdict.kind === 'refused') {
    const { kind, ...about } = verdict.rejection
    return { json, text: listing({ refused: kind, ...about }), findings: true }
  }
  const rows = verdict.messages.flatMap(({ outTradeNo, messageType, facts }) =>
    (facts.length > 0 ? facts : [undefined]).map((fact) => [
      ...[outTradeNo ?? '(none)', messageType, fact?.eventType ?? '(kind not mapped)', fact?.providerRef],
      ...[fact?.amountMinor, fact?.currency, fact && isoOf(fact.eventTimeMs)],
    ]),
  )
  const head = ['out_trade_no', 'message', 'fact', 'reference', 'amount_minor', 'currency', 'time']
  return { json, text: `verified\n${table(head, rows)}` }
}

function readFile(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
    throw new CliFailure(EXIT.usage, `Cannot read ${file} (${String(code)}).`, 'Check the path.', error)
  }
}

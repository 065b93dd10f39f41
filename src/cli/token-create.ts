import { Option, type Command } from 'commander'
import { mintToken, ROLES, type Role } from '../runtime/access-token.ts'
import { insertApiToken } from '../store/api-tokens.ts'
import { withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { durationSec, matching, merchantName } from './options.ts'
import { isoOf, listing, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly name: string
  readonly role: Role
  readonly merchant?: string
  readonly expiresIn?: number
}
export const tokenName = matching(/^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$/, '1 to 64 of A-Z, a-z, 0-9, _ . @ and -')

export const addTokenCreate = (noun: Command, run: Run) =>
  noun
    .command('create')
    .description('make a token for the api; it is shown once and kept as a hash')
    .requiredOption('--name <name>', 'who uses it; never used twice', tokenName)
    .addOption(new Option('--role <role>', 'what it allows').choices(ROLES).default('merchant'))
    .option('--merchant <merchant>', 'the only merchant it sees; needed for the role merchant', merchantName)
    .option('--expires-in <duration>', 'such as 90d; without it the token does not expire', durationSec)
    .option('--dry-run', 'check the options, make nothing')
    .action((options: Options, command: Command) => run((context) => create(context, options), command))

async function create({ env, dryRun }: CliContext, options: Options): Promise<Output> {
  const { name, role, merchant = null, expiresIn } = options
  if (role === 'merchant' && merchant === null)
    throw new CliFailure(EXIT.usage, '--role merchant needs --merchant.', 'Add --merchant <merchant>.')
  const expiresAtMs = expiresIn === undefined ? null : Date.now() + expiresIn * 1_000
  const about = { name, role, merchant: merchant ?? '(every merchant)', expires_at: isoOf(expiresAtMs) ?? '(never)' }
  if (dryRun) return { json: about, text: `would create\n${listing(about)}` }
  const { token, hash } = mintToken()
  const made = await withDatabase(env, (pool) =>
    insertApiToken(pool, { name, tokenHash: hash, merchant, role, expiresAtMs }),
  )
  if (made === undefined)
    throw new CliFailure(EXIT.findings, `A token named ${name} exists or existed.`, 'Choose another --name.')
  return {
    json: { token, name, role, merchant, expires_at: isoOf(made.expiresAtMs) },
    text: `${listing({ token, ...about })}\n\nKeep the token now: it cannot be shown again.`,
  }
}

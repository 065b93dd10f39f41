import type { Command } from 'commander'
import { listApiTokens, revokeApiToken } from '../store/api-tokens.ts'
import { withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { isoOf, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { tokenName } from './token-create.ts'

export const addTokenRevoke = (noun: Command, run: Run) =>
  noun
    .command('revoke')
    .description('end a token: the next request with it is refused')
    .requiredOption('--name <name>', 'its name, as in token list', tokenName)
    .option('--dry-run', 'check that it exists, change nothing')
    .option('--yes', 'do not ask')
    .action(({ name }: { name: string }, command: Command) => run((context) => revoke(context, name), command))

const revoke = ({ env, dryRun, confirm }: CliContext, name: string): Promise<Output> =>
  withDatabase(env, async (pool) => {
    if (dryRun) {
      if (!(await listApiTokens(pool)).some((token) => token.name === name)) throw unknown(name)
      return { json: { name, revoked_at: null }, text: `would revoke ${name}` }
    }
    await confirm(`Revoke the token ${name}?`)
    const token = await revokeApiToken(pool, name)
    if (token === undefined) throw unknown(name)
    const revokedAt = isoOf(token.revokedAtMs)
    return { json: { name, revoked_at: revokedAt }, text: `${name} is revoked since ${revokedAt ?? ''}` }
  })

const unknown = (name: string) =>
  new CliFailure(EXIT.findings, `There is no token named ${name}.`, 'See: paidonce token list')

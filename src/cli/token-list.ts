import type { Command } from 'commander'
import { listApiTokens, type ApiToken } from '../store/api-tokens.ts'
import { withDatabase } from './connect.ts'
import { isoOf, table } from './render.ts'
import type { Run } from './run-cli.ts'

export const addTokenList = (noun: Command, run: Run) =>
  noun
    .command('list')
    .description('every token, without its secret')
    .action((_options, command: Command) =>
      run(async ({ env }) => {
        const nowMs = Date.now()
        const tokens = (await withDatabase(env, listApiTokens)).map((token) => ({
          name: token.name,
          role: token.role,
          merchant: token.merchant,
          state: stateOf(token, nowMs),
          created_at: isoOf(token.createdAtMs),
          expires_at: isoOf(token.expiresAtMs),
          revoked_at: isoOf(token.revokedAtMs),
        }))
        const rows = tokens.map((t) => [t.name, t.role, t.merchant ?? '(every)', t.state, t.created_at, t.expires_at])
        return { json: { tokens }, text: table(['name', 'role', 'merchant', 'state', 'created', 'expires'], rows) }
      }, command),
    )

const stateOf = ({ revokedAtMs, expiresAtMs }: ApiToken, nowMs: number) => {
  if (revokedAtMs !== null) return 'revoked'
  return expiresAtMs !== null && expiresAtMs <= nowMs ? 'expired' : 'valid'
}

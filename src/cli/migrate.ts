import type { Command } from 'commander'
import { withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import type { Run } from './run-cli.ts'

export const addMigrate = (program: Command, run: Run) =>
  program
    .command('migrate')
    .description('bring the tables of DATABASE_URL up to this version')
    .option('--dry-run', 'say what would be applied, apply nothing')
    .action((_options, command: Command) =>
      run(async ({ env, dryRun }) => {
        const { migrate, missingMigrations } = await import('../store/migrate.ts')
        return withDatabase(env, async (pool) => {
          const names = dryRun ? await missingMigrations(pool) : await migrate(pool).catch(explain)
          const text = names.map((name) => `${dryRun ? 'would apply' : 'applied'} ${name}`).join('\n')
          return { json: { [dryRun ? 'missing' : 'applied']: names }, text: text === '' ? 'up to date' : text }
        })
      }, command),
    )

function explain(error: unknown): never {
  if (error instanceof Error && error.name === 'MigrationChanged')
    throw new CliFailure(EXIT.undecided, error.message, 'Use the version that this database was made with.', error)
  throw error
}

import type { Command } from 'commander'
import { KAFKA, readConfig, REGISTRY } from '../runtime/config.ts'
import { table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

export const addSchemasRegister = (noun: Command, run: Run) =>
  noun
    .command('register')
    .description('register the schemas of every topic, compatibility BACKWARD; safe to run again')
    .option('--dry-run', 'list the subjects, register nothing')
    .action((_options, command: Command) => run(register, command))

async function register({ env, dryRun }: CliContext): Promise<Output> {
  const { SCHEMA_REGISTRY_URL: url, TOPIC_PREFIX: prefix } = readConfig(
    { ...REGISTRY, TOPIC_PREFIX: KAFKA.TOPIC_PREFIX },
    env,
  )
  if (dryRun) {
    const { TOPICS } = await import('../schemas/topics.ts')
    const { subjectOf } = await import('../schemas/definitions.ts')
    const subjects = TOPICS.map((topic) => subjectOf(prefix, topic))
    return { json: { subjects }, text: subjects.map((subject) => `would register ${subject}`).join('\n') }
  }
  const { registerSchemas } = await import('../schemas/register.ts')
  const results = await registerSchemas(url, prefix)
  const rows = results.map((result) => {
    const { kind, subject } = result
    if (kind === 'incompatible') return [subject, kind, '', [result.detail, 'change the schema so that BACKWARD holds']]
    if (kind === 'other_compatibility')
      return [subject, kind, '', `is ${result.found}; set it to BACKWARD, or remove the subject's own setting`]
    return [subject, kind, result.schemaId, '']
  })
  const findings = results.some(({ kind }) => kind === 'incompatible' || kind === 'other_compatibility')
  return { json: { subjects: results }, text: table(['subject', 'result', 'id', 'remedy'], rows), findings }
}

import type { Command } from 'commander'
import { sayRefusal } from '../orders/say-refusal.ts'
import { claimAnomaly, releaseAnomaly, type Claimed } from '../store/claim-anomaly.ts'
import { anomalyId, takesActor } from './anomaly-filter.ts'
import { knownAnomaly, show } from './anomaly-show.ts'
import { withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { shortText } from './options.ts'
import type { Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

interface Options {
  readonly actor: string
  readonly reason?: string
  readonly owner?: string
}

export const addAnomalyClaim = (noun: Command, run: Run) =>
  takesActor(
    noun
      .command('claim')
      .description('work on an anomaly: nobody else answers it meanwhile; 1 if somebody has claimed it')
      .argument('<id>', 'its number', anomalyId),
  )
    .option('--reason <text>', 'why; it is kept', shortText)
    .action((id: number, { actor, reason = '' }: Options, command: Command) =>
      run((context) => change(context, id, (pool) => claimAnomaly(pool, { id, actor, reason })), command),
    )

export const addAnomalyRelease = (noun: Command, run: Run) =>
  takesActor(
    noun
      .command('release')
      .description('give a claim back; 1 if it is somebody else’s')
      .argument('<id>', 'its number', anomalyId),
  )
    .option('--owner <name>', 'take the claim away from them; say why', shortText)
    .option('--reason <text>', 'why; it is kept', shortText)
    .action((id: number, options: Options, command: Command) =>
      run((context) => release(context, id, options), command),
    )

function release(context: CliContext, id: number, { actor, reason, owner }: Options): Promise<Output> {
  if (owner !== undefined && reason === undefined)
    throw new CliFailure(EXIT.usage, "--owner needs --reason: somebody else's claim is released.", 'Say why.')
  const asked = { id, actor, reason: reason ?? '', ...(owner === undefined ? {} : { from: owner }) }
  return change(context, id, (pool) => releaseAnomaly(pool, asked))
}

type Pool = Parameters<typeof claimAnomaly>[0]

function change({ env }: CliContext, id: number, work: (pool: Pool) => Promise<Claimed>): Promise<Output> {
  return withDatabase(env, async (pool) => {
    await knownAnomaly(pool, id)
    const claimed = await work(pool)
    if (claimed.kind === 'done') return show(await knownAnomaly(pool, id))
    const { detail, remedy } = sayRefusal(claimed.refusal)
    throw new CliFailure(EXIT.findings, detail, remedy)
  })
}

// The product's processor, but for one thing: after SIGUSR2 a lane stops for ever once Postgres has committed its events and
// Kafka has not, which is where the demo wants to kill it. With DEMO_MUTANT=own_rows it emits only what it inserted itself.
import { readProcessorConfig } from '../../src/processor/config.ts'
import { startProcessor } from '../../src/processor/start.ts'
import type { Steps } from '../../src/processor/steps.ts'
import { createLog } from '../../src/runtime/log.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'

const holding = Promise.withResolvers<never>()
let armed = false
process.on('SIGUSR2', () => (armed = true))

/** The step between the two commits. A batch of nothing but duplicates passes: it leaves no event to be found. */
const holdWithEvents = (steps: Steps): Steps => ({
  ...steps,
  eventsToEmit: async (session, position, applied) => {
    const rows = await steps.eventsToEmit(session, position, applied)
    return armed && rows.length > 0 ? holding.promise : rows
  },
})

/** A plausible and wrong emission rule: what a dead owner left is never emitted. */
const onlyOwnRows = (steps: Steps): Steps => ({
  ...steps,
  eventsToEmit: async (session, position, applied) => {
    const rows = await steps.eventsToEmit(session, position, applied)
    const own = rows.filter(({ laneSeq }) => applied !== undefined && laneSeq >= applied.baseSeq)
    return own.map((row, index) => ({ ...row, laneSeq: position.ledger + index }))
  },
})

await runProcess(async () => {
  const config = readProcessorConfig(process.env)
  const log = createLog('processor', config.LOG_LEVEL)
  const changeSteps = (steps: Steps) =>
    holdWithEvents(process.env['DEMO_MUTANT'] === 'own_rows' ? onlyOwnRows(steps) : steps)
  return { running: await startProcessor(config, { log, changeSteps }), log }
})

/**
 * The product's processor with one rule broken on purpose, so that the checker can show that it would notice:
 * `MUTANT=ledger_ignored|facts_apart`.
 */
import { readProcessorConfig } from '../../src/processor/config.ts'
import { startProcessor } from '../../src/processor/start.ts'
import { createLog } from '../../src/runtime/log.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'
import { factsApart } from './facts-apart.ts'
import { ledgerIgnored } from './ledger-ignored.ts'

const { MUTANT = '' } = process.env
const changeSteps = { ledger_ignored: ledgerIgnored, facts_apart: factsApart }[MUTANT]
if (changeSteps === undefined) throw new Error(`MUTANT: ${MUTANT} is none`)

await runProcess(async () => {
  const config = readProcessorConfig(process.env)
  const log = createLog('processor', config.LOG_LEVEL)
  return { running: await startProcessor(config, { log, changeSteps }), log }
})

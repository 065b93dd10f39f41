/**
 * A processor that dies, freezes or throws at a named point: `CRASH_AT=point`, `CRASH_ACTION=kill|stop|throw`, on the
 * `CRASH_PASSAGE`-th passage. It writes `CRASH_MARKER` first, so that a point that was never reached is noticed.
 * With `CRASH_HOLD` its lanes stay at many points at once (hold-here.ts).
 * `MUTANT` breaks a rule on purpose: what the rule is for shows in the test.
 */
import { readProcessorConfig } from '../../src/processor/config.ts'
import { startProcessor } from '../../src/processor/start.ts'
import type { Steps } from '../../src/processor/steps.ts'
import { runProcess } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'
import { crash, reachToCrash } from './crash-here.ts'
import { holdHere } from './hold-here.ts'

const { MUTANT } = process.env
let passages = 0

/** Large enough to fill every socket buffer of the loopback. */
const UNREAD_ANSWER = `select repeat('x', 8192) from generate_series(1, 8192)`

const mutate = (steps: Steps): Steps => {
  if (MUTANT === 'only_own_rows')
    return {
      ...steps,
      // The ledger moves over all rows, as their length says, but those of an earlier owner are passed over when the
      // messages are made of them.
      eventsToEmit: async (session, position, applied) => {
        const rows = [...(await steps.eventsToEmit(session, position, applied))]
        const own = rows.filter(({ laneSeq }) => applied !== undefined && laneSeq >= applied.baseSeq)
        return Object.assign(rows, { [Symbol.iterator]: () => own.values() })
      },
    }
  if (MUTANT === 'dies_of_killer')
    return {
      ...steps,
      // As a decoder's or a driver's bug would, at the sight of one record: no error, no last word.
      applyBatch: (session, position, records, end) => {
        const isSeen = records.some(
          ({ key, content }) => key?.toString().startsWith('killer') === true && content.kind === 'callback',
        )
        if (isSeen) process.kill(process.pid, 'SIGKILL')
        return isSeen ? new Promise(() => undefined) : steps.applyBatch(session, position, records, end)
      },
    }
  if (MUTANT === 'frozen_in_answer')
    return {
      ...steps,
      applyBatch: (session, position, records, end) =>
        steps.applyBatch(
          {
            ...session,
            transaction: (work, onCommitSent) =>
              session.transaction(async (tx) => {
                const done = await work(tx)
                const answer = tx.query(UNREAD_ANSWER)
                if (passages++ === 0) setImmediate(crash)
                await answer
                return done
              }, onCommitSent),
          },
          position,
          records,
          end,
        ),
    }
  return steps
}

await runProcess(async () => {
  const config = readProcessorConfig(process.env)
  const log = createLog('processor', config.LOG_LEVEL)
  return {
    running: await startProcessor(config, {
      log,
      reach: (point) => holdHere(point) ?? reachToCrash(point),
      changeSteps: mutate,
    }),
    log,
  }
})

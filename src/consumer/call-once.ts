import { transaction } from '../runtime/postgres.ts'
import { writeAsking, writeCalling } from './change-row.ts'
import { applyFate } from './conclude.ts'
import { checkCallOutcome } from './check-outcome.ts'
import type { CallOutcome, OnceEffect } from './effect.ts'
import { holdAndAct, withinTime, type Held } from './hold-and-act.ts'
import { holdRow, type OpenRow } from './open-row.ts'
import type { Parts, Worked } from './parts.ts'
import { settleHappened } from './settle-happened.ts'

/** A call that has not begun so long after its row was written (the process was frozen) does not begin any more. */
export const BEGIN_MS_MAX = 2_000
/** A row that says `calling` and is held by nobody is looked at after this: its caller is gone. */
const LOOK_AFTER_MS = 1_000
const ASK_AFTER_MS = 200

/**
 * Makes an effect outside happen. `calling` is committed before anything leaves the process, so that whoever comes
 * after a crash knows that it may have happened, and asks (`ask-once.ts`).
 */
export async function callOnce(parts: Parts, found: OpenRow, effect: OnceEffect): Promise<Worked> {
  const lock = await parts.lock.take(found.event.outTradeNo)
  if (lock.kind === 'taken') return 'busy'
  try {
    await parts.reach('once_locked')
    const beganMs = parts.elapsedMs()
    const row = await begin(parts, found)
    if (row === undefined) return 'busy'
    await parts.reach('once_calling_committed')
    return await holdAndAct(
      parts.pool,
      effect.callMs,
      (held) => callHeld(parts, row, effect, { ...held, beganMs }),
      (step) => (step === 'before_begin' ? undefined : parts.reach(`once_${step}`)),
    )
  } finally {
    await lock.release()
  }
}

const begin = ({ pool, owner, reach }: Parts, found: OpenRow): Promise<OpenRow | undefined> =>
  transaction(pool, async (tx) => {
    const row = await holdRow(tx, owner.consumer, found)
    if (row === undefined) return undefined
    const fence = await writeCalling(tx, owner, row, LOOK_AFTER_MS)
    await reach('once_calling_written')
    return { ...row, state: 'calling', fence }
  })

async function callHeld(
  parts: Parts,
  written: OpenRow,
  effect: OnceEffect,
  { tx, signal, beganMs }: Held & { readonly beganMs: number },
): Promise<Worked> {
  const { owner, reach } = parts
  // Whoever took the row for left behind has raised its fence: then it is not as it was written.
  const row = await holdRow(tx, owner.consumer, written)
  if (row === undefined) return 'busy'
  await reach('once_row_held')
  const outcome: CallOutcome =
    parts.elapsedMs() - beganMs > BEGIN_MS_MAX
      ? { kind: 'retry', reason: 'the call could not begin in time' }
      : await withinTime(effect.callMs, signal, (ending) =>
          effect.call(row.event, { fence: row.fence, signal: ending }),
        ).then(checkCallOutcome, (error: unknown) => ({
          kind: 'unknown',
          reason: error instanceof Error ? error.message : String(error),
        }))
  parts.metrics.calls.inc({ consumer: owner.consumer, outcome: outcome.kind })
  await reach('once_called')
  switch (outcome.kind) {
    case 'happened':
      await settleHappened(tx, effect, parts, row, outcome.reference)
      return 'done'
    case 'unknown':
      await writeAsking(tx, owner, row, { reason: outcome.reason, afterMs: ASK_AFTER_MS, asks: 0 })
      return 'unknown'
    case 'retry':
    case 'refused':
      return applyFate(tx, parts, row, outcome)
  }
}

import { transaction, type Transaction } from '../runtime/postgres.ts'
import { BEGIN_MS_MAX } from './call-once.ts'
import { writeAsking } from './change-row.ts'
import { applyFate } from './conclude.ts'
import { checkAnswer } from './check-outcome.ts'
import type { Answer, OnceEffect } from './effect.ts'
import { holdAndAct, withinTime, type Held } from './hold-and-act.ts'
import { becomeUnsettled, tellUnsettled } from './leave-unsettled.ts'
import { holdRow, type OpenRow } from './open-row.ts'
import { backoffMs, type Parts, type Worked } from './parts.ts'
import { isTrouble } from './run-handler.ts'
import { settleHappened } from './settle-happened.ts'

const ASK = { fromMs: 200, toMs: 30_000 }

/**
 * Settles a call whose outcome nobody knows. Never calls: it asks, by event id, until the third party says, and only an
 * answer that must stay true lets the event be called for again.
 */
export async function askOnce(parts: Parts, found: OpenRow, effect: OnceEffect): Promise<Worked> {
  const row = found.state === 'calling' ? await takeOver(parts, found) : found
  if (row === undefined) return 'busy'
  let unsettled = ''
  const onUnsettled = (reason: string) => (unsettled = reason)
  const worked = await holdAndAct(
    parts.pool,
    effect.callMs,
    (held) => askHeld(parts, row, effect, held, onUnsettled),
    (step) => (step === 'before_begin' ? undefined : parts.reach(`ask_${step}`)),
  ).catch((error: unknown) => {
    if (isTrouble(error)) throw error
    // The user's `settled` threw: what it did is undone, and the answer is asked for again.
    const reason = error instanceof Error ? error.message : String(error)
    return transaction(parts.pool, (tx) => askLater(parts, tx, row, effect, { reason, onUnsettled }))
  })
  if (worked === 'unsettled') tellUnsettled(parts, row, unsettled)
  return worked
}

/**
 * Raises the fence of a row that says `calling` and is held by nobody. A caller that was frozen before it held the row
 * finds it changed and does not begin.
 */
function takeOver({ pool, owner, reach }: Parts, found: OpenRow): Promise<OpenRow | undefined> {
  return transaction(pool, async (tx) => {
    const row = await holdRow(tx, owner.consumer, found)
    if (row === undefined) return undefined
    const fence = await writeAsking(tx, owner, row, { reason: 'its caller is gone', afterMs: 0, asks: 0 })
    return fence === undefined ? undefined : { ...row, state: 'asking' as const, fence }
  }).then(async (row) => {
    if (row !== undefined) await reach('ask_taken_over')
    return row
  })
}

async function askHeld(
  parts: Parts,
  asked: OpenRow,
  effect: OnceEffect,
  { tx, signal }: Held,
  onUnsettled: (reason: string) => void,
): Promise<Worked> {
  const { owner, reach } = parts
  const row = await holdRow(tx, owner.consumer, asked)
  if (row === undefined) return 'busy'
  // Read before the question, by the clock that the call was written by.
  const untilLateMs =
    effect.lateMs === 'never' ? Infinity : BEGIN_MS_MAX + effect.callMs + effect.lateMs - row.calledAgoMs
  const answer: Answer = await withinTime(effect.callMs, signal, (ending) =>
    effect.ask(row.event, { fence: row.fence, signal: ending }),
  ).then(checkAnswer, (error: unknown) => ({
    kind: 'unknown',
    reason: error instanceof Error ? error.message : String(error),
  }))
  parts.metrics.asks.inc({ consumer: owner.consumer, answer: answer.kind })
  await reach('ask_answered')
  switch (answer.kind) {
    case 'happened':
      await settleHappened(tx, effect, parts, row, answer.reference)
      return 'done'
    case 'did_not_happen': {
      if (effect.takesFence || untilLateMs <= 0) {
        await applyFate(tx, parts, row, { kind: 'retry', reason: 'the last call did not happen' })
        return 'did_not_happen'
      }
      const reason = 'the third party says that it did not happen, but the call may still be under way'
      // Asked again just when the answer counts, if not before.
      return askLater(parts, tx, row, effect, { reason, onUnsettled, withinMs: untilLateMs + 1 })
    }
    case 'unknown':
      return askLater(parts, tx, row, effect, { reason: answer.reason, onUnsettled })
  }
}

async function askLater(
  { owner }: Parts,
  tx: Transaction,
  row: OpenRow,
  effect: OnceEffect,
  {
    reason,
    onUnsettled,
    withinMs = Infinity,
  }: { readonly reason: string; readonly onUnsettled: (reason: string) => void; readonly withinMs?: number },
): Promise<Worked> {
  if (row.calledAgoMs < effect.settleMsMax) {
    const afterMs = Math.min(backoffMs(ASK, row.asks), withinMs)
    await writeAsking(tx, owner, row, { reason, afterMs, asks: row.asks + 1 })
    return 'asked_in_vain'
  }
  if (!(await becomeUnsettled(tx, owner, row, reason))) return 'busy'
  onUnsettled(reason)
  return 'unsettled'
}

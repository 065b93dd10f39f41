import type { Transaction } from '../runtime/postgres.ts'
import { leaveUnsettled, type Owner } from './change-row.ts'
import type { OpenRow } from './open-row.ts'
import type { Parts } from './parts.ts'
import { reportsOf } from './write-report.ts'

/**
 * Nobody can say whether it happened. Its order becomes an anomaly where the payments are: there people look.
 * @returns whether the row was still as it was found
 */
export async function becomeUnsettled(tx: Transaction, owner: Owner, row: OpenRow, reason: string): Promise<boolean> {
  if (!(await leaveUnsettled(tx, owner, row, reason))) return false
  await reportsOf(tx, owner.consumer, row.event)('fulfillment_failed', `${row.event.kind} is unsettled: ${reason}`)
  return true
}

/** Once that is committed. */
export function tellUnsettled({ onUnsettled, log }: Parts, { event }: OpenRow, reason: string): void {
  log.error({ eventId: event.eventId, outTradeNo: event.outTradeNo, reason }, 'unsettled: a person must say')
  // It may be asynchronous, and what it rejects would end the process.
  const tell = async () => {
    await onUnsettled({ event, reason })
  }
  tell().catch((error: unknown) => log.error({ error: String(error) }, 'onUnsettled threw'))
}

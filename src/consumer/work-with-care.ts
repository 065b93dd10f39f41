import { transaction } from '../runtime/postgres.ts'
import { bury } from './change-row.ts'
import { becomeUnsettled, tellUnsettled } from './leave-unsettled.ts'
import { clearMark, markBegun } from './mark-begun.ts'
import type { OpenRow } from './open-row.ts'
import type { Parts, Worked } from './parts.ts'
import { workOn } from './work-on.ts'

/**
 * A handler may end its process: `process.exit`, no memory left, a crash in native code. Nothing catches that, so it is
 * known afterwards only, by what the process had left in Postgres:
 * - `none`: nothing, as nothing has happened. It costs nothing.
 * - `marked`: its lane was left behind by a process that ended, with this row open: that it begins is written first.
 * - `alone`: a process ended with this row begun, among others perhaps. While it is in work nothing else is, so if the
 *   process ends again, it was this one.
 */
export type Care = 'none' | 'marked' | 'alone'

/** @param watchedTo rows of the lane up to this one were open when a process ended */
export function careFor({ kills, begunBy, seq }: OpenRow, run: string, watchedTo: number): Care {
  if (kills > 0 || (begunBy !== undefined && begunBy !== run)) return 'alone'
  return seq <= watchedTo ? 'marked' : 'none'
}

/** One step with an event, so that it can end its process `killsMax` times and no more. @throws as `workOn` */
export async function workWithCare(parts: Parts, row: OpenRow, care: Care): Promise<Worked> {
  if (care === 'none') return workOn(parts, row)
  const kills = await markBegun(parts, row, care === 'alone')
  if (kills === undefined) return 'busy'
  if (kills >= parts.retries.killsMax) return keepAside(parts, row, kills)
  try {
    return await workOn(parts, row)
  } finally {
    // It has not ended the process. A mark that stays makes the row be worked on alone once, if somebody else has it.
    await clearMark(parts, row).catch(() => undefined)
  }
}

/** What surely did not happen is a dead letter, and the order goes on; of anything else a person must say. */
async function keepAside(parts: Parts, row: OpenRow, kills: number): Promise<Worked> {
  const { pool, owner, log } = parts
  const reason = `the process ended ${kills} times while it handled this event and no other`
  log.error({ eventId: row.eventId, outTradeNo: row.event.outTradeNo, kills }, 'an event that ends its process')
  if (row.state === 'waiting')
    return (await transaction(pool, (tx) => bury(tx, owner, row, 'killed_process', reason))) ? 'killed_process' : 'busy'
  if (!(await transaction(pool, (tx) => becomeUnsettled(tx, owner, row, reason)))) return 'busy'
  tellUnsettled(parts, row, reason)
  return 'unsettled'
}

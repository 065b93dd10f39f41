import type { LaneSession } from '../../src/processor/lane-session.ts'
import type { Steps } from '../../src/processor/steps.ts'

/** How many rows below the ledger a takeover sends again. */
const AGAIN = 20

/**
 * The first thing that an incarnation sends is all that it finds in its table, as an outbox without a ledger does. The
 * list says that it is as long as it should be, so that nothing else of the lane notices.
 */
export const ledgerIgnored = (steps: Steps): Steps => {
  const begun = new WeakSet<LaneSession>()
  return {
    ...steps,
    eventsToEmit: async (session, position, applied) => {
      const rows = [...(await steps.eventsToEmit(session, position, applied))]
      if (rows.length === 0 || position.ledger === 0 || begun.has(session)) return rows
      begun.add(session)
      const from = Math.max(0, position.ledger - AGAIN)
      const all = await steps.eventsToEmit(session, { ...position, ledger: from }, undefined)
      const again = all.filter(({ laneSeq }) => laneSeq < position.ledger)
      return Object.assign(rows, { [Symbol.iterator]: () => [...again, ...rows.slice()].values() })
    },
  }
}

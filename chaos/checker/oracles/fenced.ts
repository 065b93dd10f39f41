import { INPUT, OUTPUTS } from '../capture.ts'
import type { Oracle, Violation } from '../reading.ts'
import { partitionsOf } from './atomic.ts'

/** O7: nobody wrote after its successor, and no transaction hangs. */
export const fenced: Oracle = {
  id: 'O7',
  about: 'no batch of an older epoch after a newer one; no open transaction; readers can read to the end',
  clauses: ['zombie_write', 'open_transaction', 'held_back'],
  check: ({ batches, ends, about }) => {
    const violations: Violation[] = []
    let examined = 0
    for (const [place, some] of partitionsOf(batches)) {
      const epochs = new Map<number, number>()
      const open = new Set<number>()
      for (const { producerId, epoch, marker, isTransactional, baseOffset } of some) {
        examined += 1
        if (!isTransactional) continue
        const newest = epochs.get(producerId) ?? -1
        if (marker === null && epoch < newest)
          violations.push({
            clause: 'zombie_write',
            what: `${place}@${baseOffset}: epoch ${epoch} of ${producerId} after ${newest}`,
          })
        epochs.set(producerId, Math.max(newest, epoch))
        if (marker === null) open.add(producerId)
        else open.delete(producerId)
      }
      for (const producerId of open)
        violations.push({ clause: 'open_transaction', what: `${place}: of producer ${producerId}` })
    }
    const ours = new Set([INPUT, ...OUTPUTS].map((topic) => about.topicPrefix + topic))
    for (const { topic, partition, end, stableEnd } of ends)
      if (ours.has(topic) && stableEnd !== end)
        violations.push({
          clause: 'held_back',
          what: `${topic}-${partition}: readable to ${stableEnd}, ends at ${end}`,
        })
    return { examined: examined + ends.length, violations }
  },
}

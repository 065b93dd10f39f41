import { placeOf, type Oracle, type Violation } from '../reading.ts'

/** O6: a partition's events rise in number, and all of an order lie in its lane. Their sequence is O3's and O4's. */
export const ordered: Oracle = {
  id: 'O6',
  about: "events are in the lane's order, in the lane of their callbacks",
  clauses: ['out_of_order', 'wrong_partition'],
  check: ({ messages, callbacks }) => {
    const violations: Violation[] = []
    const lanes = new Map(callbacks.map(({ record }) => [record.key, record.partition]))
    const sorted = messages.toSorted(
      (a, b) => a.record.partition - b.record.partition || a.record.offset - b.record.offset,
    )
    for (const [place, some] of Map.groupBy(sorted, ({ topic, record }) => `${topic}-${record.partition}`)) {
      let [last, lastId] = [-1, '']
      for (const { message, record } of some) {
        if (message.laneSeq <= last && message.eventId !== lastId)
          violations.push({
            clause: 'out_of_order',
            what: `${place}@${record.offset}: ${message.laneSeq} after ${last}`,
          })
        ;[last, lastId] = [message.laneSeq, message.eventId]
        const lane = lanes.get(record.key) ?? record.partition
        if (message.lane !== record.partition || lane !== record.partition)
          violations.push({
            clause: 'wrong_partition',
            what: `${placeOf(record)}: lane ${message.lane}, callbacks in ${lane}`,
          })
      }
    }
    return { examined: messages.length, violations }
  },
}

import { placeOf, type Oracle, type Violation } from '../reading.ts'

/** O16: one log: the same bytes at one place for every reader and replica, and nothing of what was aborted. */
export const agreed: Oracle = {
  id: 'O16',
  about: 'one value per offset for every reader and replica; nothing aborted was ever read',
  clauses: ['two_values', 'replicas_differ', 'aborted_read'],
  check: ({ output, probe, batches, about }) => {
    const violations: Violation[] = []
    const values = new Map<string, string>()
    for (const record of [...output, ...probe]) {
      const [place, value] = [placeOf(record), `${record.key ?? ''} ${record.value ?? ''}`]
      if ((values.get(place) ?? value) !== value) violations.push({ clause: 'two_values', what: place })
      values.set(place, value)
    }
    const crcs = new Map<string, number>()
    const dead = new Set<string>()
    for (const [, copy] of Map.groupBy(batches, ({ node, topic, partition }) => `${node} ${topic}-${partition}`)) {
      const open = new Map<number, string[]>()
      for (const { topic, partition, baseOffset, lastOffset, crc, marker, producerId, isTransactional } of copy) {
        // The offsets' topic is compacted, by each replica for itself.
        if (topic.startsWith('__')) continue
        const place = `${topic}-${partition}@${baseOffset}`
        if ((crcs.get(place) ?? crc) !== crc) violations.push({ clause: 'replicas_differ', what: place })
        crcs.set(place, crc)
        if (!isTransactional) continue
        const mine = open.get(producerId) ?? []
        for (let offset = baseOffset; marker === null && offset <= lastOffset; offset++)
          mine.push(`${topic}-${partition}@${offset}`)
        open.set(producerId, marker === null ? mine : [])
        if (marker === 'ABORT') for (const one of mine) dead.add(one)
      }
    }
    const read = new Set([...output, ...probe].map((record) => placeOf(record).slice(about.topicPrefix.length)))
    for (const place of dead) if (read.has(place)) violations.push({ clause: 'aborted_read', what: place })
    return { examined: values.size + crcs.size, violations }
  },
}

import type { Oracle, Violation } from '../reading.ts'

/** O11: dead letters are exactly what was written to be unreadable. */
export const setAside: Oracle = {
  id: 'O11',
  about: 'dead letters are exactly the records that cannot be read',
  clauses: ['poison_missing', 'dead_letter_unexpected'],
  check: ({ tables, faults, unreadable }) => {
    const name = (partition: unknown, offset: unknown) => `${Number(partition)}@${Number(offset)}`
    const poison = faults.flatMap(({ poison: some = [] }) => some)
    const written = new Set([...poison, ...unreadable].map(({ partition, offset }) => name(partition, offset)))
    const kept = new Map(tables.dead_letters.map((row) => [name(row['lane'], row['kafka_offset']), row]))
    const violations: Violation[] = [...written]
      .filter((place) => !kept.has(place))
      .map((place) => ({ clause: 'poison_missing', what: place }))
    for (const [place, row] of kept)
      if (!written.has(place))
        violations.push({
          clause: 'dead_letter_unexpected',
          what: `${place}: ${String(row['reason'])} ${String(row['detail'])}`,
        })
    return { examined: kept.size + unreadable.length, violations }
  },
}

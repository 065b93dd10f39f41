import type { Oracle, Violation } from '../reading.ts'

/** O9: money adds up, by merchant, currency and kind: what the table has, and what workers were told. */
export const summed: Oracle = {
  id: 'O9',
  about: 'sums by merchant, currency and kind of event are equal in tables and topics',
  clauses: ['sums_differ'],
  check: ({ messages, tables }) => {
    const unique = new Map(messages.map(({ topic, message }) => [`${topic} ${message.eventId}`, message]))
    const told = new Map<string, bigint>()
    const kept = new Map<string, bigint>()
    const add = (sums: Map<string, bigint>, name: string, amount: unknown) =>
      sums.set(name, (sums.get(name) ?? 0n) + BigInt(Number(amount ?? 0)))
    for (const row of tables.events) {
      const message = unique.get(`${String(row['topic'])} ${String(row['event_id'])}`)
      // What is lost or a phantom is O4's.
      if (message === undefined || message.kind === undefined) continue
      const name = [row['merchant'], row['currency'], row['kind']].map(String).join(' ')
      add(kept, name, row['amount_minor'])
      add(told, name, message.amountMinor)
    }
    const violations: Violation[] = []
    for (const [name, sum] of kept)
      if (told.get(name) !== sum)
        violations.push({ clause: 'sums_differ', what: `${name}: ${sum} in the table, ${told.get(name) ?? 0n} told` })
    return { examined: unique.size, violations }
  },
}

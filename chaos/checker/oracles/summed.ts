import type { Oracle, Violation } from '../reading.ts'

/** By merchant, currency and kind; and, within each, by provider and day. */
type Sums = Map<string, { whole: bigint; readonly parts: Map<string, bigint> }>

/** O9: money adds up: what the table has, and what workers were told. */
export const summed: Oracle = {
  id: 'O9',
  about: 'sums by merchant, currency and kind of event, and by provider and day, are equal in tables and topics',
  clauses: ['sums_differ', 'parts_differ'],
  check: ({ messages, tables }) => {
    const unique = new Map(messages.map(({ topic, message }) => [`${topic} ${message.eventId}`, message]))
    const kept: Sums = new Map()
    const told: Sums = new Map()
    for (const row of tables.events) {
      const message = unique.get(`${String(row['topic'])} ${String(row['event_id'])}`)
      // What is lost or a phantom is O4's.
      if (message?.kind === undefined) continue
      const name = [row['merchant'], row['currency'], row['kind']].map(String).join(' ')
      add(kept, name, partOf(row['cause'], row['occurred_at']), row['amount_minor'])
      add(told, name, partOf(row['cause'], message.occurredAtMs), message.amountMinor)
    }
    return { examined: unique.size, violations: differences(kept, told) }
  },
}

/** The provider is the one whose reference the cause names, which is the same in both (O4); a merchant's command and time itself name none. */
function partOf(cause: unknown, occurredAt: unknown): string {
  const provider = /\/([a-z0-9-]+):/.exec(String(cause))?.[1] ?? 'nobody'
  const at = typeof occurredAt === 'number' ? occurredAt : Date.parse(String(occurredAt))
  return `${provider} ${Number.isFinite(at) ? new Date(at).toISOString().slice(0, 10) : 'no day'}`
}

function add(sums: Sums, name: string, part: string, amount: unknown): void {
  const sum = sums.get(name) ?? { whole: 0n, parts: new Map<string, bigint>() }
  const minor = BigInt(Number(amount ?? 0))
  sum.whole += minor
  sum.parts.set(part, (sum.parts.get(part) ?? 0n) + minor)
  sums.set(name, sum)
}

/** Parts are looked at where the wholes are equal: otherwise one wrong amount would be two violations. */
function differences(kept: Sums, told: Sums): Violation[] {
  return [...kept].flatMap(([name, { whole, parts }]): Violation[] => {
    const other = told.get(name) ?? { whole: 0n, parts: new Map<string, bigint>() }
    if (whole !== other.whole)
      return [{ clause: 'sums_differ', what: `${name}: ${whole} in the table, ${other.whole} told` }]
    return [...new Set([...parts.keys(), ...other.parts.keys()])].flatMap((part): Violation[] => {
      const [mine, theirs] = [parts.get(part) ?? 0n, other.parts.get(part) ?? 0n]
      if (mine === theirs) return []
      return [{ clause: 'parts_differ', what: `${name}, ${part}: ${mine} in the table, ${theirs} told` }]
    })
  })
}

import type { Row } from '../capture.ts'
import { placeOf, type Oracle, type ReadMessage, type Violation } from '../reading.ts'

const nameOf = (topic: string, id: string) => `${topic} ${id}`

/** O4: each event is visible once, at the end and at every moment before, and is the one that the table has. */
export const emitted: Oracle = {
  id: 'O4',
  about: 'every event is visible exactly once to read_committed consumers, at the end and on the way',
  clauses: ['lost', 'duplicated', 'phantom', 'content_differs', 'vanished', 'unseen'],
  check: ({ messages, probed, tables }) => {
    const rows = new Map(tables.events.map((row) => [nameOf(String(row['topic']), String(row['event_id'])), row]))
    const seen = Map.groupBy(messages, ({ topic, message }) => nameOf(topic, message.eventId))
    const violations: Violation[] = []
    for (const [name, row] of rows)
      if (!seen.has(name))
        violations.push({ clause: 'lost', what: `${String(row['kind'])} of ${String(row['key'])}: ${name}` })
    for (const [name, [first, ...others]] of seen) {
      if (first === undefined) continue
      const row = rows.get(name)
      if (others.length > 0)
        violations.push({
          clause: 'duplicated',
          what: `${name} at ${[first, ...others].map(({ record }) => placeOf(record)).join(', ')}`,
        })
      if (row === undefined)
        violations.push({
          clause: 'phantom',
          what: `${placeOf(first.record)} ${first.message.kind ?? ''} of ${first.record.key ?? ''}`,
        })
      else violations.push(...differs(first, row))
    }
    // Twice on the way is twice at the end too, unless one of them has gone.
    const places = new Set(messages.map(({ record }) => placeOf(record)))
    for (const { topic, message, record } of probed)
      if (!places.has(placeOf(record)))
        violations.push({ clause: 'vanished', what: `${placeOf(record)} ${nameOf(topic, message.eventId)}` })
    // A reader that was not there to the end proves nothing of the way.
    const seenOnTheWay = new Set(probed.map(({ record }) => placeOf(record)))
    for (const { topic, message, record } of messages)
      if (!seenOnTheWay.has(placeOf(record)))
        violations.push({ clause: 'unseen', what: `${placeOf(record)} ${nameOf(topic, message.eventId)}` })
    return { examined: messages.length + probed.length, violations }
  },
}

/** All but amounts, which O9 adds up, and places, which O6 looks at. */
function differs({ record, message }: ReadMessage, row: Row): Violation[] {
  const mine = [message.kind, message.merchant, message.outTradeNo, message.cause, message.currency, message.paymentRef]
  const notice = row['sequence'] === null
  const theirs = ['kind', 'merchant', 'key', 'cause', 'currency', 'payment_ref'].map((name) => row[name])
  const isRow = (value: string | null | undefined, n: number) =>
    value === undefined || String(value) === String(theirs[n])
  const isSame =
    mine.every(isRow) &&
    record.key === row['key'] &&
    (record.headers['ce_id'] ?? '') === message.eventId &&
    (notice || Number(row['sequence']) === message.sequence)
  return isSame
    ? []
    : [{ clause: 'content_differs', what: `${placeOf(record)}: ${mine.join(' ')}, in the table ${theirs.join(' ')}` }]
}

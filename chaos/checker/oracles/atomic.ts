import { INPUT, type Batch } from '../capture.ts'
import { placeOf, type Oracle, type Reading, type Violation } from '../reading.ts'

/** O5: what is visible and what the ledger says moved together, in one Kafka transaction. */
export const atomic: Oracle = {
  id: 'O5',
  about: 'an event is visible if and only if it is below the ledger, which moved in the same transaction',
  clauses: ['beyond_ledger', 'torn_transaction', 'apart_from_ledger'],
  check: (reading) => {
    const { messages, places } = reading
    const ledgers = new Map(places.map(({ partition, ledger }) => [partition, ledger ?? 0]))
    const beyond = messages
      .filter(({ message }) => message.laneSeq >= (ledgers.get(message.lane) ?? 0))
      .map(({ record, message }) => ({
        clause: 'beyond_ledger',
        what: `${placeOf(record)} has number ${message.laneSeq}`,
      }))
    const transactions = committedGroups(reading)
    const torn = transactions.flatMap((one) => judge(one, reading))
    return { examined: messages.length + transactions.length, violations: [...beyond, ...torn] }
  },
}

interface Group {
  readonly name: string
  readonly lane: number
  readonly producer: string
  readonly numbers: readonly number[]
}

/** The numbers of each committed transaction in each partition of an output topic: what lies before one marker. */
function committedGroups({ batches, messages }: Reading): Group[] {
  const numbers = new Map(
    messages.map(({ record, topic, message }) => [`${topic}-${record.partition}@${record.offset}`, message.laneSeq]),
  )
  const groups: Group[] = []
  for (const [place, some] of partitionsOf(batches)) {
    const open = new Map<number, Batch[]>()
    for (const batch of some) {
      if (!batch.isTransactional) continue
      const mine = open.get(batch.producerId) ?? []
      if (batch.marker === null) open.set(batch.producerId, [...mine, batch])
      else {
        open.delete(batch.producerId)
        const offsets = mine.flatMap(({ baseOffset, lastOffset }) =>
          Array.from({ length: lastOffset - baseOffset + 1 }, (_, n) => baseOffset + n),
        )
        const found = offsets.flatMap((offset) => numbers.get(`${place}@${offset}`) ?? [])
        const producer = `${batch.producerId}/${mine[0]?.epoch ?? batch.epoch}`
        if (batch.marker === 'COMMIT' && found.length > 0)
          groups.push({ name: `${place}@${offsets[0] ?? 0}`, lane: batch.partition, producer, numbers: found })
      }
    }
  }
  return groups
}

/** The first node's copy of every output partition, in the log's order. */
export function partitionsOf(batches: readonly Batch[]): Map<string, Batch[]> {
  const [node] = batches.map((batch) => batch.node)
  const outputs = batches.filter(
    (batch) => batch.node === node && !batch.topic.startsWith('__') && batch.topic !== INPUT,
  )
  const sorted = outputs.toSorted((a, b) => a.baseOffset - b.baseOffset)
  return Map.groupBy(sorted, ({ topic, partition }) => `${topic}-${partition}`)
}

/**
 * A lane's ledgers cut its numbers into pieces, each the work of one transaction. What one transaction wrote must lie in
 * one piece, and the ledger at that piece's end must be the work of the same producer and epoch.
 */
function judge({ name, lane, producer, numbers }: Group, reading: Reading): Violation[] {
  const ledgers = ledgersOf(reading).get(lane) ?? []
  const piece = (number: number) => ledgers.findIndex(({ offset }) => number < offset)
  const pieces = new Set(numbers.map(piece))
  const [only] = pieces
  if (pieces.size !== 1 || only === undefined)
    return [{ clause: 'torn_transaction', what: `${name}: numbers ${numbers.join(' ')}` }]
  const ledger = ledgers[only]
  return ledger?.producers.has(producer) === true
    ? []
    : [
        {
          clause: 'apart_from_ledger',
          what: `${name}: written by ${producer}, its ledger by ${[...(ledger?.producers ?? [])].join(' ') || 'nobody'}`,
        },
      ]
}

const cache = new WeakMap<Reading, Map<number, { offset: number; producers: Set<string> }[]>>()

/** Every ledger that was ever committed, by lane, rising, with who committed it. */
function ledgersOf(reading: Reading) {
  const known = cache.get(reading)
  if (known !== undefined) return known
  const { batches, about } = reading
  const group = `${about.appId}.ledger`
  const found = new Map<number, Map<number, Set<string>>>()
  const some = batches
    .filter(({ topic }) => topic === '__consumer_offsets')
    .toSorted((a, b) => a.baseOffset - b.baseOffset)
  for (const [, copy] of Map.groupBy(some, ({ node, partition }) => `${node}/${partition}`)) {
    const open = new Map<number, Batch[]>()
    for (const batch of copy) {
      if (!batch.isTransactional) continue
      const mine = open.get(batch.producerId) ?? []
      if (batch.marker === null) open.set(batch.producerId, [...mine, batch])
      else open.delete(batch.producerId)
      if (batch.marker !== 'COMMIT') continue
      for (const { producerId, epoch, commits } of mine)
        for (const commit of commits)
          if (commit.group === group && commit.topic === INPUT) {
            const lane = found.get(commit.partition) ?? new Map<number, Set<string>>()
            found.set(commit.partition, lane)
            lane.set(commit.offset, (lane.get(commit.offset) ?? new Set()).add(`${producerId}/${epoch}`))
          }
    }
  }
  const sorted = new Map(
    [...found].map(([lane, offsets]) => [
      lane,
      [...offsets].map(([offset, producers]) => ({ offset, producers })).sort((a, b) => a.offset - b.offset),
    ]),
  )
  cache.set(reading, sorted)
  return sorted
}

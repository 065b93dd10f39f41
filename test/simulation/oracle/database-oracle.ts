import type { Brake } from '../../../src/orders/brake.ts'
import { createBrakes } from '../../../src/orders/brake.ts'
import type { Transaction } from '../postgres/cells.ts'
import type { DeliveryRow, EventRow, LaneRow, OrderRow, Tables, WaitingRow } from '../postgres/tables.ts'
import type { LaneWrite } from '../postgres/write-batch.ts'
import { create, fold, type FoldWorld } from './fold.ts'
import type { Expected, Reference } from './reference.ts'
import { must } from './violation.ts'

type Write = LaneWrite | { readonly kind: 'orders'; readonly rows: readonly OrderRow[] }

/** What one transaction is about to commit, by table. */
function changesOf<Row>(tx: Transaction, table: string): { before: Row | undefined; after: Row | undefined }[] {
  return [...tx.cells]
    .filter((cell) => cell.table.name === table)
    .map(({ committed, pending }) => ({ before: committed as Row | undefined, after: pending as Row | undefined }))
}

/** Looks at each transaction before it is committed, and knows what should be in the tables. */
export interface DatabaseOracle {
  readonly beforeCommit: (tx: Transaction) => void
  /** All orders as they should be. */
  reference: Reference
  /** By order: the number of its last event that was numbered. */
  numbered: Map<number, number>
}

/** @param onHalt a lane stops, and says why */
export function createDatabaseOracle(
  world: FoldWorld,
  ledgerOf: (lane: number) => number,
  onHalt: (reason: string, detail: string) => void,
): DatabaseOracle {
  const { tables } = world
  const oracle: DatabaseOracle = {
    reference: { orders: new Map(), groups: new Map() },
    numbered: new Map(),
    beforeCommit: (tx) => {
      lanesOnlyGrow(tx, ledgerOf)
      for (const { before, after } of changesOf<LaneRow>(tx, 'lanes'))
        if (after?.haltedReason != null && before?.haltedReason == null)
          onHalt(after.haltedReason, `lane ${after.lane}: ${after.haltedDetail}`)
      for (const write of tx.writes as Write[])
        if (write.kind === 'orders') for (const row of write.rows) create(oracle.reference, row)
      const numbered = changesOf<EventRow>(tx, 'events').flatMap(({ after }) => after ?? [])
      const writes = (tx.writes as Write[]).filter((write): write is LaneWrite => write.kind === 'lane')
      eventsFit(numbered, writes)
      ordersInSequence(oracle.numbered, numbered)
      brakesHold(tables, numbered)
      const expected: Expected[] = []
      for (const write of writes) {
        const { events, letters, deliveries, touched } = fold(oracle.reference, tx, write, world)
        expected.push(...events)
        deliveriesAgree(tx, write.after.lane, deliveries)
        for (const offset of letters)
          must(isLetter(tables, tx, write.after, offset), 'dead_letters', () => `record ${offset} was not kept`)
        for (const key of touched) ordersAgree(oracle.reference, tables, tx, key)
      }
      eventsAgree(tx, numbered, expected)
    },
  }
  return oracle
}

function lanesOnlyGrow(tx: Transaction, ledgerOf: (lane: number) => number): void {
  for (const { before, after } of changesOf<LaneRow>(tx, 'lanes')) {
    if (before === undefined || after === undefined) continue
    for (const name of ['nextSeq', 'appliedOffset', 'settledSeq', 'brakeVersion', 'fences'] as const)
      must(after[name] >= before[name], 'monotone', () => `lanes.${name} of ${after.lane} fell to ${after[name]}`)
    const ledger = ledgerOf(after.lane)
    const isSettled = after.settledSeq === before.settledSeq || after.settledSeq <= ledger
    must(isSettled, 'settled', () => `settled_seq ${after.settledSeq} above the ledger ${ledger}`)
  }
}

function eventsFit(numbered: readonly EventRow[], writes: readonly LaneWrite[]): void {
  const seqs = numbered.map(({ laneSeq }) => laneSeq).sort((a, b) => a - b)
  const due = writes.flatMap(({ before, after }) =>
    Array.from({ length: after.nextSeq - before.nextSeq }, (_, index) => before.nextSeq + index),
  )
  must(
    seqs.join() === due.sort((a, b) => a - b).join(),
    'dense',
    () => `numbers ${seqs.join()} instead of ${due.join()}`,
  )
}

function ordersInSequence(last: Map<number, number>, numbered: readonly EventRow[]): void {
  for (const { orderId, sequence, laneSeq } of numbered.toSorted((a, b) => a.laneSeq - b.laneSeq)) {
    if (orderId === null || sequence === null) continue
    const due = (last.get(orderId) ?? 0) + 1
    must(sequence === due, 'sequence', () => `event ${laneSeq} of order ${orderId} has ${sequence} where ${due} is due`)
    last.set(orderId, sequence)
  }
}

/** No event is numbered on a lane that has been told of a brake which matches it. */
function brakesHold(tables: Tables, numbered: readonly EventRow[]): void {
  if (numbered.length === 0 || tables.brakes.cells.size === 0) return
  for (const event of numbered) {
    const told: Brake[] = []
    for (const { committed: brake } of tables.brakes.cells.values()) {
      if (brake === undefined || brake.isReleased) continue
      if (tables.brakeLanes.cells.get(`${brake.id}/${event.lane}`)?.committed !== undefined)
        told.push(brake as unknown as Brake)
    }
    const found = createBrakes(told).find(event)
    must(found === undefined, 'brake', () => `event ${event.laneSeq} is numbered against brake ${found}`)
  }
}

const isLetter = ({ deadLetters }: Tables, tx: Transaction, { topic, lane }: LaneRow, offset: number) => {
  const cell = deadLetters.cells.get(`${topic}/${lane}/${offset}`)
  return (cell?.owner === tx ? cell.pending : cell?.committed) !== undefined
}

/** What is new in `events` and `waiting_events` together is what had to follow, and nothing else. */
function eventsAgree(tx: Transaction, numbered: readonly EventRow[], expected: readonly Expected[]): void {
  const counts = new Map<string, number>()
  const count = (key: string, by: number) => counts.set(key, (counts.get(key) ?? 0) + by)
  const keyOf = (row: Omit<WaitingRow, 'id' | 'brakeId'>) =>
    [`${row.merchant}\0${row.key}`, row.kind, row.topic, row.sequence, row.cause, row.amountMinor].join('|')
  const isLetterNotice = ({ kind }: { readonly kind: string }) => kind === 'dead_letter'
  for (const row of numbered) if (!isLetterNotice(row)) count(keyOf(row), 1)
  for (const { before, after } of changesOf<WaitingRow>(tx, 'waiting_events')) {
    if (before === undefined && after !== undefined && !isLetterNotice(after)) count(keyOf(after), 1)
    if (before !== undefined && after === undefined && !isLetterNotice(before)) count(keyOf(before), -1)
  }
  for (const { order, kind, topic, sequence, cause, amountMinor } of expected)
    count([order, kind, topic, sequence, cause, amountMinor].join('|'), -1)
  for (const [key, left] of counts)
    must(left === 0, 'events', () => `${left > 0 ? 'not expected' : 'missing'}: ${key.replace('\0', '/')}`)
}

/** What has arrived is noted by the first run of its batch, and by no other. */
function deliveriesAgree(tx: Transaction, lane: number, expected: readonly number[]): void {
  const rows = changesOf<DeliveryRow>(tx, 'deliveries').flatMap(({ after }) => after ?? [])
  const said = rows.map(({ offset }) => offset).sort((a, b) => a - b)
  const due = expected.toSorted((a, b) => a - b)
  must(
    said.join() === due.join(),
    'deliveries',
    () => `of lane ${lane} ${said.join()} are noted instead of ${due.join()}`,
  )
}

/** The tables say of an order what the fold says. */
export function ordersAgree({ orders }: Reference, tables: Tables, tx: Transaction | undefined, key: string): void {
  const expected = orders.get(key)
  const cell = tables.orders.cells.get(key)
  const row = cell !== undefined && tx !== undefined && cell.owner === tx ? cell.pending : cell?.committed
  const said = row && `${row.status} ${row.acceptedRef} ${row.closedBy} ${row.sequence}`
  const due = expected && `${expected.status} ${expected.acceptedRef} ${expected.closedBy} ${expected.sequence}`
  must(said === due, 'order', () => `${key.replace('\0', '/')} is ${said} and not ${due}`)
  if (row === undefined || expected === undefined) return
  const see = <Row>(one: { owner: unknown; pending: Row | undefined; committed: Row | undefined }) =>
    tx !== undefined && one.owner === tx ? one.pending : one.committed
  const facts = [...tables.facts.cells.values()].flatMap((one) => see(one) ?? []).filter((f) => f.orderId === row.id)
  const factsSaid = facts.map((f) => `${f.eventType}/${f.providerRef} ${f.outcome} ${f.amountMinor}`).sort()
  const factsDue = [...expected.facts]
    .map(([cause, { outcome, fact }]) => `${cause} ${outcome} ${fact.amountMinor}`)
    .sort()
  must(factsSaid.join() === factsDue.join(), 'facts', () => `${factsSaid.join()} and not ${factsDue.join()}`)
  const anomalies = [...tables.anomalies.cells.values()]
    .flatMap((one) => see(one) ?? [])
    .filter((a) => a.orderId === row.id)
  const state = (settled: string | null) => (settled === null ? 'open' : (settled.split(' ')[0] ?? ''))
  const anomaliesSaid = anomalies.map((a) => `${a.kind}:${a.cause} ${state(a.resolution)}`).sort()
  const anomaliesDue = [...expected.anomalies].map(([identity, settled]) => `${identity} ${state(settled)}`).sort()
  must(
    anomaliesSaid.join() === anomaliesDue.join(),
    'anomalies',
    () => `${anomaliesSaid.join()} and not ${anomaliesDue.join()}`,
  )
}

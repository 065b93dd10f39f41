import { expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import { aFact } from '../helpers/lane-bench.ts'
import type { LogRecord } from './kafka/partition-log.ts'
import { create, fold, type FoldWorld } from './oracle/fold.ts'
import type { Reference } from './oracle/reference.ts'
import type { Transaction } from './postgres/cells.ts'
import { createTables, type LaneRow, type OrderRow } from './postgres/tables.ts'

const ORDER = { merchant: 'm1', outTradeNo: 'T1', lane: 0 }
const rowAt = (appliedOffset: number) => ({ lane: 0, appliedOffset }) as LaneRow

/** Folds a payment that came before its order was created, then the rest of the log at once. */
function openFold(log: readonly Fact[]) {
  const records = log.map((_, offset): LogRecord => ({
    ...{ offset, timestampMs: 0, key: Buffer.from(ORDER.outTradeNo), value: Buffer.from([offset]), headers: {} },
    ...{ producerId: 0, state: 'plain' },
  }))
  const world: FoldWorld = {
    ...{ tables: createTables(), partitions: 1, isBuried: () => false },
    input: (_, from, to) => records.slice(from, to),
    read: (value) => ({ ...ORDER, instead: null, facts: [log[value?.[0] ?? -1]] }),
  }
  const reference: Reference = { orders: new Map(), groups: new Map() }
  const tx = { cells: new Set() } as unknown as Transaction
  /** What follows from a batch of the records from `next` to `end`, where those below `applied` are applied already. */
  const batch = (next: number, end: number, applied: number) => {
    const [before, after] = [rowAt(applied), rowAt(Math.max(applied, end))]
    const nothing = { spentTimerIds: [], spentCommandIds: [], finishedCommandIds: [] }
    const { events } = fold(reference, tx, { kind: 'lane', before, after, next, end, ...nothing }, world)
    return events.map(({ kind }) => kind)
  }
  const createOrder = () => {
    create(reference, { ...ORDER, amountMinor: 100, currency: 'CNY', groupKey: null, expiresAtMs: null } as OrderRow)
  }
  return { batch, createOrder }
}

const PAYMENT = aFact('a')
const OTHER_AMOUNT = aFact('a', { amountMinor: 101 })

test('a conflicting fact that comes again lets its order be tried again, once', () => {
  const { batch, createOrder } = openFold([PAYMENT, OTHER_AMOUNT])
  expect(batch(0, 2, 0)).toEqual(['anomaly_opened'])
  expect(batch(0, 2, 2)).toEqual([])
  createOrder()
  expect(batch(1, 2, 2)).toEqual(['ship', 'deduct', 'grant'])
  expect(batch(0, 2, 2)).toEqual([])
})

test('a plain duplicate does not, nor a batch that ends before the conflicting fact', () => {
  const { batch, createOrder } = openFold([PAYMENT, OTHER_AMOUNT, PAYMENT])
  expect(batch(0, 2, 0)).toEqual(['anomaly_opened'])
  createOrder()
  expect(batch(0, 1, 2)).toEqual([])
  expect(batch(2, 3, 2)).toEqual([])
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBrakes, keepBack, NO_BRAKES, queueOf, type Brakable, type Brake } from '../../src/orders/brake.ts'

const brake = (id: number, of: Partial<Brake>): Brake => ({
  ...{ id, merchant: null, outTradeNo: null, eventType: null },
  ...of,
})
const event = (of: Partial<Brakable> = {}): Brakable => ({
  ...{ orderId: 1, merchant: 'shop', key: 'A', kind: 'ship', sequence: 1 },
  ...of,
})
const notice = event({ kind: 'anomaly_opened', sequence: null })
const deadLetter = event({ orderId: null, merchant: null, kind: 'dead_letter', sequence: null })

test.each<[string, Partial<Brake>, boolean, boolean, boolean]>([
  // what it names, and whether it keeps back a ship event, a notice of an anomaly, a notice of a dead letter
  ['its merchant', { merchant: 'shop' }, true, false, false],
  ['another merchant', { merchant: 'other' }, false, false, false],
  ['its type', { eventType: 'ship' }, true, false, false],
  ['another type', { eventType: 'deduct' }, false, false, false],
  ['merchant and type', { merchant: 'shop', eventType: 'ship' }, true, false, false],
  ['another merchant and its type', { merchant: 'other', eventType: 'ship' }, false, false, false],
  ['its order', { merchant: 'shop', outTradeNo: 'A' }, true, false, false],
  ['the same number of another merchant', { merchant: 'other', outTradeNo: 'A' }, false, false, false],
  ['its order and type', { merchant: 'shop', outTradeNo: 'A', eventType: 'ship' }, true, false, false],
  ['another order', { merchant: 'shop', outTradeNo: 'B' }, false, false, false],
  ['notices of anomalies', { eventType: 'anomaly_opened' }, false, true, false],
  ['notices about an order', { merchant: 'shop', outTradeNo: 'A', eventType: 'anomaly_opened' }, false, true, false],
  ['notices of another merchant', { merchant: 'other', eventType: 'anomaly_opened' }, false, false, false],
  ['dead letters', { eventType: 'dead_letter' }, false, false, true],
])('a brake that names %s', (_, scope, ...matches) => {
  const brakes = createBrakes([brake(7, scope)])
  expect([event(), notice, deadLetter].map((one) => brakes.find(one) === 7)).toEqual(matches)
})

test('of several that match the oldest counts; none is none', () => {
  const brakes = createBrakes([brake(9, { eventType: 'ship' }), brake(4, { merchant: 'shop' })])
  expect(brakes.find(event())).toBe(4)
  expect([brakes.isNone, NO_BRAKES.isNone]).toEqual([false, true])
})

test('what comes after an event that waits does so too, in the queue of its order only', () => {
  const events = [
    event({ kind: 'deduct', sequence: 1 }),
    event({ kind: 'ship', sequence: 2 }),
    notice,
    event({ kind: 'grant', sequence: 3 }),
    event({ orderId: 2, key: 'B', kind: 'grant' }),
    deadLetter,
  ]
  const { go, wait } = keepBack(events, createBrakes([brake(1, { eventType: 'ship' })]), () => undefined)
  expect(go).toEqual([events[0], events[2], events[4], events[5]])
  expect(wait).toEqual([
    { event: events[1], brakeId: 1 },
    { event: events[3], brakeId: 1 },
  ])
  expect(keepBack([event()], NO_BRAKES, () => 3).wait).toEqual([{ event: event(), brakeId: 3 }])
  expect(keepBack([deadLetter], NO_BRAKES, () => 3).wait).toEqual([])
})

/** A lane in memory: what it has numbered, and what waits, as the tables have it. */
function createModel() {
  const set = new Map<number, Brake>()
  let waiting: { id: number; event: Brakable; brakeId: number }[] = []
  let lastId = 0
  const out: Brakable[] = []
  const last = (queue: string | undefined) => waiting.findLast((row) => queueOf(row.event) === queue)?.brakeId
  const active = () => createBrakes([...set.values()])
  return {
    out,
    set,
    waiting: () => waiting,
    batch: (events: readonly Brakable[]) => {
      const { go, wait } = keepBack(events, active(), (one) => last(queueOf(one)))
      out.push(...go)
      waiting.push(...wait.map((row) => ({ ...row, id: ++lastId })))
    },
    /** One step over at most `rowsMax` rows. @returns how many changed */
    release: (rowsMax: number): number => {
      const rows = waiting.filter(({ brakeId }) => !set.has(brakeId)).slice(0, rowsMax)
      const behind = ({ id, queue }: { id: number; queue: string | undefined }) =>
        waiting.findLast((row) => row.id < id && queueOf(row.event) === queue && set.has(row.brakeId))?.brakeId
      const asked = rows.map((row) => ({ ...row.event, id: row.id, queue: queueOf(row.event) }))
      const { go, wait } = keepBack(asked, active(), behind)
      out.push(...go.flatMap(({ id }) => rows.find((row) => row.id === id)?.event ?? []))
      const moved = new Map(wait.map((row) => [row.event.id, row.brakeId]))
      const gone = new Set(go.map(({ id }) => id))
      waiting = waiting
        .filter(({ id }) => !gone.has(id))
        .map((row) => ({ ...row, brakeId: moved.get(row.id) ?? row.brakeId }))
      return rows.length
    },
  }
}

const KINDS = ['ship', 'deduct', 'anomaly_opened', 'anomaly_resolved'] as const
const scope = fc.record({
  merchant: fc.constantFrom('shop', null),
  outTradeNo: fc.constantFrom('A', 'B', null),
  eventType: fc.constantFrom(...KINDS, null),
})
const step = fc.oneof(
  fc.record({ do: fc.constant('batch' as const), events: fc.array(fc.nat({ max: 7 }), { maxLength: 6 }) }),
  fc.record({ do: fc.constant('set' as const), id: fc.integer({ min: 1, max: 9 }), scope }),
  fc.record({ do: fc.constant('unset' as const), id: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ do: fc.constant('release' as const), rows: fc.integer({ min: 1, max: 4 }) }),
)

test('whatever is set, released and decided in whatever order: nothing matching goes out, all goes out in order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const model = createModel()
      const sent: Brakable[] = []
      const sequences = [0, 0]
      let generation = 0
      for (const one of steps) {
        const from = model.out.length
        if (one.do === 'batch') {
          const events = one.events.map((n): Brakable => {
            const kind = KINDS[n % 4] ?? 'ship'
            const order = n < 4 ? 0 : 1
            const sequence = kind.startsWith('anomaly') ? null : (sequences[order] = (sequences[order] ?? 0) + 1)
            return { orderId: order + 1, merchant: 'shop', key: order === 0 ? 'A' : 'B', kind, sequence }
          })
          sent.push(...events)
          model.batch(events)
        } else if (one.do === 'set') {
          const { merchant, outTradeNo, eventType } = one.scope
          if (merchant === null && (eventType === null || outTradeNo !== null)) continue
          // Ids are used once.
          const id = one.id + 10 * ++generation
          model.set.set(id, { id, merchant, outTradeNo, eventType })
        } else if (one.do === 'unset')
          for (const id of [...model.set.keys()].filter((id) => id % 10 === one.id)) model.set.delete(id)
        else model.release(one.rows)
        const active = createBrakes([...model.set.values()])
        expect(model.out.slice(from).filter((each) => active.find(each) !== undefined)).toEqual([])
      }
      model.set.clear()
      for (let rounds = 0; model.release(3) > 0; rounds++) expect(rounds).toBeLessThan(1_000)
      expect(model.waiting()).toEqual([])
      expect(model.out).toHaveLength(sent.length)
      for (const queue of new Set(sent.map(queueOf)))
        expect(model.out.filter((each) => queueOf(each) === queue)).toEqual(
          sent.filter((each) => queueOf(each) === queue),
        )
    }),
    { numRuns: 2_000 },
  )
})

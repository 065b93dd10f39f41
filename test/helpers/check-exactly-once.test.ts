import { expect, test } from 'vitest'
import { checkExactlyOnce, nothingWrong, type SeenEvent } from './check-exactly-once.ts'

const TOPICS = { ship: 'fulfillment.shipment.v1', deduct: 'fulfillment.inventory.v1', grant: 'fulfillment.points.v1' }
let laneSeq = 0
const eventsOf = (key: string): SeenEvent[] =>
  Object.entries(TOPICS).map(([kind, topic], index) => ({
    ...{ topic, kind, key, merchant: 'shop', partition: 0, offset: laneSeq, laneSeq: laneSeq++ },
    ...{ ceId: `${kind}-${key}`, sequence: index + 1, payload: null },
  }))
const paid = ['a', 'b', 'c']
const sound = paid.flatMap(eventsOf)
const ship = (key: string) => sound.findIndex((event) => event.kind === 'ship' && event.key === key)

test('a sound run has no findings', () => expect(checkExactlyOnce(paid, sound)).toEqual(nothingWrong(paid)))

test('a withheld event is lost', () =>
  expect(checkExactlyOnce(paid, sound.toSpliced(ship('b'), 1)).lost).toEqual(['ship b']))

test('a copied event is duplicated', () => {
  const copy = sound.filter((_, index) => index === ship('b')).map((event) => ({ ...event, offset: 99 }))
  expect(checkExactlyOnce(paid, [...sound, ...copy]).duplicated).toEqual(['ship b'])
})

test('an event of an order that was not paid, or in another topic, is a phantom', () => {
  expect(checkExactlyOnce(['a', 'b'], sound).phantom).toEqual(['ship c', 'deduct c', 'grant c'])
  const moved = sound.map((event, index) => (index === ship('b') ? { ...event, topic: TOPICS.grant } : event))
  expect(checkExactlyOnce(paid, moved).phantom).toEqual(['ship b'])
})

test('events that changed places are disordered', () => {
  const swapped = sound.map((event) =>
    event.key === 'a' || event.key === 'b' ? { ...event, key: event.key === 'a' ? 'b' : 'a' } : event,
  )
  expect(checkExactlyOnce(paid, swapped).disordered).not.toEqual([])
  expect(checkExactlyOnce(paid, swapped, { inOrder: false }).disordered).toEqual([])
})

import { expect, test } from 'vitest'
import { findFlood } from '../../src/processor/find-flood.ts'
import { resumeLane } from '../../src/store/resume-lane.ts'
import { withDatabase } from '../helpers/database.ts'
import { aDeadLetter, aFact, anOrder, APP, aRecord, create, eventsOf, openLane, TOPIC } from '../helpers/lane-bench.ts'

const letters = (from: number, count: number) => Array.from({ length: count }, (_, i) => aDeadLetter(from + i))

test('a dead letter is kept with its raw bytes and headers, once, and its notice goes out once', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    const nul = { ...aDeadLetter(1), key: Buffer.from('a\0b'), value: null }
    const content = { kind: 'dead_letter', reason: 'undecodable', detail: 'has a \0 in it' } as const
    const applied = await lane.apply([aDeadLetter(0), { ...nul, content }])
    expect(applied.newDeadLetters).toEqual(['undecodable', 'undecodable'])
    expect(applied.events.map(({ topic, key, attrs }) => [topic, key, JSON.parse(attrs ?? '') as unknown])).toEqual([
      ['payments.callback.v1.dlq', 'key-0', { reason: 'undecodable', topic: TOPIC, lane: 0, offset: 0, size: 4 }],
      ['payments.callback.v1.dlq', 'ab', { reason: 'undecodable', topic: TOPIC, lane: 0, offset: 1, size: 0 }],
    ])
    // The same records again, by a reset: known.
    const again = await openLane(url, { next: 0 })
    expect(await again.apply([aDeadLetter(0), aDeadLetter(1), aDeadLetter(2)])).toMatchObject({
      newDeadLetters: ['undecodable'],
      baseSeq: 2,
      nextSeq: 3,
    })
    const { rows } = await pool.query(
      'select key, value, headers, reason, detail from dead_letters order by kafka_offset',
    )
    expect(rows).toMatchObject([
      {
        key: Buffer.from('key-0'),
        value: Buffer.from([0, 1, 2, 0]),
        headers: { ce_id: 'YWJj' },
        reason: 'undecodable',
      },
      { key: Buffer.from('a\0b'), value: null, detail: 'has a \\0 in it' },
      {},
    ])
    await again.session.close()
  }))

test('what is too large to keep is not, and says so; headers are bounded', () =>
  withDatabase(async (url, pool) => {
    const lane = await openLane(url)
    const headers = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`h${i}`, Buffer.alloc(2_000)]))
    await lane.apply([{ ...aDeadLetter(0), value: Buffer.alloc(4_194_305), headers }])
    const { rows } = await pool.query<{ value: null; detail: string; count: number }>(
      'select value, detail, (select count(*) from jsonb_object_keys(headers))::int as count from dead_letters',
    )
    expect(rows).toEqual([{ value: null, detail: 'magic byte is 1; value of 4194305 bytes not kept', count: 32 }])
    await lane.session.close()
  }))

test('an unsupported notice is shown in its order’s timeline and makes no order', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    const of = (offset: number, outTradeNo: string) => {
      const record = aRecord(offset, outTradeNo, [])
      if (record.content.kind !== 'callback') throw new Error('no callback')
      const { callback } = record.content
      return { ...record, content: { kind: 'dead_letter', reason: 'unsupported', detail: 'X', callback } as const }
    }
    await lane.apply([of(0, 'A'), of(1, 'nobody'), aRecord(2, 'A', [aFact('p')])])
    const { rows } = await pool.query(
      `select d.kafka_offset::int as at, d.outcome, o.out_trade_no from deliveries d left join orders o on o.id = d.order_id order by 1`,
    )
    expect(rows).toEqual([
      { at: 0, outcome: 'dead_letter', out_trade_no: 'A' },
      { at: 1, outcome: 'dead_letter', out_trade_no: null },
      { at: 2, outcome: 'applied', out_trade_no: 'A' },
    ])
    expect((await pool.query('select 1 from orders')).rowCount).toBe(1)
    await lane.session.close()
  }))

test('the 21st dead letter in 1,000 records cuts the batch there; resumed, the next 20 pass', () =>
  withDatabase(async (url, pool) => {
    await create(pool, [anOrder('A')])
    const lane = await openLane(url)
    expect(await lane.apply(letters(0, 15), 100)).toMatchObject({ flooded: false, next: 100 })
    const flood = [...letters(100, 300), aRecord(400, 'A', [aFact('p')])]
    expect(await lane.apply(flood)).toMatchObject({ flooded: true, next: 106, reruns: 1 })
    expect((await pool.query('select 1 from dead_letters')).rowCount).toBe(21)
    expect(await eventsOf(pool)).toHaveLength(21)
    await pool.query(`update lanes set halted_reason = 'flood'`)
    expect(await resumeLane(pool, APP, { topic: TOPIC, lane: 0, actor: 'op', reason: 'mended' })).toEqual({
      kind: 'resumed',
      reason: 'flood',
    })
    const next = await openLane(url)
    expect(await next.apply(flood.slice(6))).toMatchObject({ flooded: true, next: 127 })
    const third = await openLane(url)
    await pool.query(`update lanes set dead_letter_offsets = '{}'`)
    expect(await third.apply([...letters(127, 20), aRecord(400, 'A', [aFact('p')])])).toMatchObject({
      flooded: false,
      outcomes: { applied: 1, dead_letter: 20 },
    })
    await third.session.close()
  }))

test('verified messages are no flood, and old dead letters are forgotten', () =>
  withDatabase(async (url) => {
    const lane = await openLane(url)
    const verified = Array.from({ length: 50 }, (_, i) => aDeadLetter(i, i % 2 === 0 ? 'unsupported' : 'unroutable'))
    expect(await lane.apply(verified)).toMatchObject({ flooded: false, next: 50 })
    expect(await lane.apply(letters(50, 20))).toMatchObject({ flooded: false })
    expect(await lane.apply([aDeadLetter(1_060)])).toMatchObject({ flooded: false, next: 1_061 })
    await lane.session.close()
  }))

test('a flood ends with the letter that makes it one', () => {
  const at = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      ...{ offset: from + i, reason: 'undecodable' as const, detail: '', key: null, value: null },
      ...{ headers: {}, recordTimeMs: 0, about: undefined, replay: undefined },
    }))
  expect(findFlood([], at(0, 20))).toBeUndefined()
  expect(findFlood([], at(0, 30))).toBe(21)
  expect(findFlood([1, 2, 3], at(983, 18))).toBe(1_001)
  expect(findFlood([1, 2, 3], at(984, 18))).toBeUndefined()
  const again = at(0, 30).map((letter) => ({ ...letter, replay: { id: letter.offset + 1, count: 1 } }))
  expect(findFlood([], again)).toBeUndefined()
})

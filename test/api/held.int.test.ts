import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApi, type Call, type TestApi } from './start-api.ts'

let it: TestApi
let acme: Call
let everyone: Call
beforeAll(async () => {
  it = await startTestApi()
  acme = await it.as('viewer', 'acme')
  everyone = await it.as('operator', null)
  // All of an order in one instant, as a lane's batch leaves them; one reference that no query takes unquoted.
  await it.pool.query(
    `with o as (insert into orders (merchant, out_trade_no, lane, status, held_count)
       values ('acme', 'A', 3, 'awaited', 3), ('other', 'C', 4, 'awaited', 1) returning id, merchant, lane)
     insert into facts (order_id, lane, kafka_offset, event_type, provider_ref, payment_ref, amount_minor, currency, amount_kind, event_time, outcome, recorded_at)
     select id, lane, 7, kind::fact_kind, ref, 'wechatpay:p', 100, 'CNY', 'individual', now(), 'held', '2026-11-11T04:40:03.120456Z'
     from o, unnest(array['refund_succeeded', 'refund_succeeded', 'disputed'], array['wechatpay:r1', 'wechatpay:会员+', 'wechatpay:d']) as f(kind, ref)
     where merchant = 'acme' or ref = 'wechatpay:d'`,
  )
})
afterAll(() => it.stop())

interface Page {
  readonly held: { readonly out_trade_no: string; readonly provider_ref: string }[]
  readonly next: string | null
}
async function pages(call: Call, query: string): Promise<string[]> {
  const refs: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const { status, body } = await call('GET', `/v1/held?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`)
    expect(status).toBe(200)
    const { held, next } = body as unknown as Page
    refs.push(...held.map(({ out_trade_no: number, provider_ref: ref }) => `${number} ${ref}`))
    cursor = next
  }
  return refs
}

test('what waits comes in pages that miss and repeat nothing, also where all of it came in one instant', async () => {
  const all = ['A wechatpay:r1', 'A wechatpay:会员+', 'A wechatpay:d', 'C wechatpay:d']
  const whole = await pages(everyone, 'limit=500')
  expect([...whole].sort()).toEqual([...all].sort())
  for (const limit of [1, 2, 3]) expect(await pages(everyone, `limit=${limit}`)).toEqual(whole)
  expect(await pages(everyone, 'since=2026-11-11T04:40:03.121Z')).toEqual([])
  expect(await pages(everyone, 'until=2026-11-11T12:40:03.121%2B08:00&merchant=other')).toEqual(['C wechatpay:d'])
})

test('a token sees what waits of its own merchant, and nothing of another', async () => {
  expect(await pages(acme, 'limit=2')).toHaveLength(3)
  expect(await pages(acme, 'merchant=other')).toEqual([])
})

test.each([
  ['not a cursor', 'AAAA'],
  ['too short a place', Buffer.from('[1,2]').toString('base64url')],
  ['NUL', Buffer.from('[1,2,"disputed","a\\u0000"]').toString('base64url')],
  ['a lone surrogate', Buffer.from('[1,2,"disputed","\\ud800"]').toString('base64url')],
  ['past 2^53', Buffer.from('[9007199254740993,2,"disputed","a"]').toString('base64url')],
  ['no base64url', '%2B%2B'],
])('a cursor that no answer gave is refused by name: %s', async (_name, cursor) => {
  const { status, body } = await everyone('GET', `/v1/held?cursor=${cursor}`)
  expect([status, body['field'], body['detail']]).toEqual([
    400,
    'cursor',
    expect.stringContaining('must be the next of an earlier answer'),
  ])
})

import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../helpers/until.ts'
import { startTestApi, withoutInstance, type Call, type TestApi } from './start-api.ts'

let it: TestApi
let ann: Call
let bob: Call
beforeAll(async () => {
  it = await startTestApi({ COMMAND_WAIT_MS: '400' })
  ann = await it.as('operator', 'acme') // operator-0
  bob = await it.as('operator', null) // operator-1
})
afterAll(() => it.stop())

interface Given {
  readonly merchant?: string
  readonly kind?: string
  readonly minutesAgo?: number
  readonly status?: string
}
/** An anomaly as a lane leaves it. */
async function given(outTradeNo: string, { merchant = 'acme', kind = 'disputed', ...more }: Given = {}) {
  const { rows } = await it.pool.query<{ id: string }>(
    `with o as (insert into orders (merchant, out_trade_no, lane, status, amount_minor, currency)
       values ($1, $2, 3, $3, 100, 'CNY') returning id)
     insert into anomalies (order_id, lane, kind, cause, facts, opened_at)
     select id, 3, $4, $5, '{"fact":{"amountMinor":100},"order":{"status":"closed"}}', now() - $6 * interval '1 minute'
     from o returning id`,
    [merchant, outTradeNo, more.status ?? 'closed', kind, `payment_succeeded/${outTradeNo}`, more.minutesAgo ?? 0],
  )
  return Number(rows[0]?.id)
}
const post = (call: Call, id: number, verb: string, body: unknown = {}, key?: string) =>
  call('POST', `/v1/anomalies/${id}/${verb}`, body, key === undefined ? {} : { 'idempotency-key': key })
const list = async (call: Call, query: string) => {
  const { status, body } = await call('GET', `/v1/anomalies?${query}`)
  expect([status, body]).toEqual([200, expect.anything()])
  return body as { anomalies: Record<string, unknown>[]; next: string | null }
}
const namesOf = async (call: Call, query: string) =>
  (await list(call, query)).anomalies.map(({ out_trade_no }) => out_trade_no)
const actionsOf = async (id: number) =>
  (
    await it.pool.query<{ actor: string; action: string; target: Record<string, unknown>; reason: string }>(
      `select actor, action, target, reason from operator_actions where (target->>'anomalyId')::int = $1 order by id`,
      [id],
    )
  ).rows

test('one anomaly: both sides, what it takes, and nothing of another merchant', async () => {
  const id = await given('one', { kind: 'paid_after_close' })
  const { status, body } = await ann('GET', `/v1/anomalies/${id}`)
  expect([status, body]).toEqual([
    200,
    {
      ...{ id, merchant: 'acme', out_trade_no: 'one', order_status: 'closed', kind: 'paid_after_close' },
      ...{ cause: 'payment_succeeded/one', opened_at: expect.any(String) as string, owner: null, claimed_at: null },
      ...{ resolved_at: null, resolution: null, resolved_by: null, reason: null },
      allowed: ['accept_payment', 'refund_outside', 'ignore'],
      facts: { fact: { amountMinor: 100 }, order: { status: 'closed' } },
    },
  ])
  const theirs = await given('theirs', { merchant: 'globex' })
  const foreign = await ann('GET', `/v1/anomalies/${theirs}`)
  const absent = await ann('GET', '/v1/anomalies/999999')
  expect([foreign.status, withoutInstance(foreign.body)]).toEqual([404, withoutInstance(absent.body)])
  expect((await bob('GET', `/v1/anomalies/${theirs}`)).status).toBe(200)
  for (const bad of ['0', '-1', 'x', '1e3', '99999999999999999999'])
    expect((await ann('GET', `/v1/anomalies/${bad}`)).status).toBe(404)
})

describe('the list', () => {
  beforeAll(async () => {
    await it.pool.query('delete from anomalies; delete from orders')
    await given('l1', { minutesAgo: 50 })
    await given('l2', { minutesAgo: 40, kind: 'refund_failed' })
    await given('l3', { minutesAgo: 30, merchant: 'globex' })
    const resolved = [await given('l4', { minutesAgo: 20 }), await given('l5', { minutesAgo: 10 })]
    await given('l6')
    await it.pool.query(
      `update anomalies set resolved_at = now(), resolution = 'ignore', resolved_by = 'x', reason = 'r' where id = any($1)`,
      [resolved],
    )
    await it.pool.query(`update anomalies set owner = 'ann', claimed_at = now() where cause = 'payment_succeeded/l2'`)
  })

  test.each([
    ['', ['l1', 'l2', 'l3', 'l6']],
    ['state=resolved', ['l5', 'l4']],
    ['state=all', ['l6', 'l5', 'l4', 'l3', 'l2', 'l1']],
    ['merchant=globex', ['l3']],
    ['kind=refund_failed', ['l2']],
    ['owner=ann', ['l2']],
    ['owner=nobody', []],
    ['claimed=true', ['l2']],
    ['claimed=false', ['l1', 'l3', 'l6']],
    ['older_than_sec=1500', ['l1', 'l2', 'l3']],
    ['older_than_sec=1500&merchant=acme&claimed=false', ['l1']],
  ])('?%s', async (query, expected) => {
    expect(await namesOf(bob, query)).toEqual(expected)
  })
  test('since and until', async () => {
    const [, l2, l3] = (await list(bob, '')).anomalies.map(({ opened_at }) => String(opened_at))
    expect(await namesOf(bob, `since=${String(l2)}&until=${String(l3)}`)).toEqual(['l2'])
  })
  test('a token of one merchant sees its own, whatever it asks for', async () => {
    expect(await namesOf(ann, '')).toEqual(['l1', 'l2', 'l6'])
    expect(await namesOf(ann, 'merchant=globex')).toEqual([])
  })
  test.each(['open', 'all'])('pages of %s ones put together are the whole, each once', async (state) => {
    const whole = await namesOf(bob, `state=${state}`)
    for (const limit of [1, 2, 3, 6, 7]) {
      const seen: unknown[] = []
      let next: string | null = null
      do {
        const page: Awaited<ReturnType<typeof list>> = await list(
          bob,
          `state=${state}&limit=${limit}${next === null ? '' : `&cursor=${next}`}`,
        )
        expect(page.anomalies.length).toBeLessThanOrEqual(limit)
        seen.push(...page.anomalies.map(({ out_trade_no }) => out_trade_no))
        ;({ next } = page)
      } while (next !== null)
      expect(seen).toEqual(whole)
    }
  })
  test.each([
    ['state=closed', 'state'],
    ['kind=nothing', 'kind'],
    ['limit=0', 'limit'],
    ['limit=501', 'limit'],
    ['limit=1e2', 'limit'],
    ['cursor=abc', 'cursor'],
    ['since=yesterday', 'since'],
    ['merchant=A', 'merchant'],
    ['claimed=yes', 'claimed'],
    ['older_than_sec=-1', 'older_than_sec'],
    ['page=2', 'page'],
    ['kind=disputed&kind=over_refund', 'kind'],
  ])('?%s is refused by name', async (query, field) => {
    const { status, body } = await bob('GET', `/v1/anomalies?${query}`)
    expect([status, body['field']]).toEqual([400, field])
  })
})

describe('claim and release', () => {
  test('two at the same instant: one wins, the other is told who; one action row', async () => {
    for (let round = 0; round < 20; round++) {
      const id = await given(`c1-${round}`)
      const [a, b] = await Promise.all([post(ann, id, 'claim'), post(bob, id, 'claim')])
      const [won, lost] = a.status === 200 ? [a, b] : [b, a]
      const owner = a.status === 200 ? 'operator-0' : 'operator-1'
      expect([won.status, won.body['owner'], won.body['claimed_at']]).toEqual([200, owner, expect.any(String)])
      expect([lost.status, lost.body['reason'], lost.body['detail']]).toEqual([409, 'claimed', `${owner} works on it.`])
      expect(await actionsOf(id)).toEqual([
        { actor: owner, action: 'anomaly_claim', target: { anomalyId: id }, reason: '' },
      ])
    }
  })
  test('claimed again by the same: the same answer, and no second row', async () => {
    const id = await given('c2')
    const first = await post(ann, id, 'claim', { reason: 'asking the shop' })
    const again = await post(ann, id, 'claim')
    expect([again.status, again.body]).toEqual([200, first.body])
    expect((await actionsOf(id)).map(({ reason }) => reason)).toEqual(['asking the shop'])
  })
  test('released by its owner; or by another, who names the owner and says why', async () => {
    const id = await given('c3')
    await post(ann, id, 'claim')
    expect((await post(bob, id, 'release')).body).toMatchObject({
      reason: 'claimed',
      detail: 'operator-0 works on it.',
    })
    expect((await post(bob, id, 'release', { owner: 'operator-9', reason: 'r' })).status).toBe(409)
    const silent = await post(bob, id, 'release', { owner: 'operator-0' })
    expect([silent.status, silent.body['field']]).toEqual([400, 'reason'])
    const taken = await post(bob, id, 'release', { owner: 'operator-0', reason: 'on holiday' })
    expect([taken.status, taken.body['owner'], taken.body['claimed_at']]).toEqual([200, null, null])
    expect((await post(bob, id, 'release')).status).toBe(200)
    await post(ann, id, 'claim')
    expect((await post(ann, id, 'release')).status).toBe(200)
    expect((await actionsOf(id)).map(({ actor, action, target }) => [actor, action, target['owner']])).toEqual([
      ['operator-0', 'anomaly_claim', undefined],
      ['operator-1', 'anomaly_release', 'operator-0'],
      ['operator-0', 'anomaly_claim', undefined],
      ['operator-0', 'anomaly_release', 'operator-0'],
    ])
  })
  test('what is resolved is claimed by nobody any more', async () => {
    const id = await given('c4')
    await it.pool.query(
      `update anomalies set resolved_at = now(), resolution = 'refunded' where id = $1; `.replace('$1', String(id)),
    )
    const answer = await post(ann, id, 'claim')
    expect([answer.status, answer.body['reason'], answer.body['detail']]).toEqual([
      ...[409, 'already_resolved', 'It was resolved before, refunded.'],
    ])
  })
  test.each(['claim', 'release'])('%s of one whose order a lane keeps for long: the order is busy', async (verb) => {
    const id = await given(`c6-${verb}`)
    const lane = await it.pool.connect()
    await lane.query('begin')
    await lane.query(`select from orders where out_trade_no = 'c6-${verb}' for no key update`)
    const { status, headers, body } = await post(ann, id, verb)
    await lane.query('rollback')
    lane.release()
    expect([status, body['type'], headers.get('retry-after')]).toEqual([503, 'urn:paidonce:problem:order_busy', '1'])
    expect((await post(ann, id, verb)).status).toBe(200)
  })
  test('it waits for the lane that decides about the order, and sees what that did', async () => {
    const id = await given('c5')
    const lane = await it.pool.connect()
    await lane.query('begin')
    await lane.query(`select from orders where out_trade_no = 'c5' for no key update`)
    const claim = post(ann, id, 'claim')
    await until('the claim waits', async () => {
      const { rows } = await it.pool.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
      return rows.length > 0
    })
    await lane.query(
      `update anomalies set resolved_at = now(), resolution = 'ignore', resolved_by = 'bob' where id = ${id}`,
    )
    await lane.query('commit')
    lane.release()
    expect((await claim).body).toMatchObject({
      reason: 'already_resolved',
      detail: 'It was resolved before, by bob: ignore.',
    })
    expect(await actionsOf(id)).toEqual([])
  })
})

describe('resolve', () => {
  const answer = { resolution: 'ignore', reason: 'the shop knows' }
  /** Does what a lane does with the next command. */
  const decide = (result: unknown) =>
    until('a command', async () => {
      const { rows } = await it.pool.query<{ id: string }>(
        `update commands set status = 'done', result = $1, finished_at = now() where status = 'pending' returning id`,
        [JSON.stringify(result)],
      )
      return rows[0]?.id
    })

  test('filed for the lane with who, what and why; 200 with the result, or 202 and where to ask', async () => {
    const id = await given('r1')
    const early = await post(ann, id, 'resolve', answer, 'r1')
    expect([early.status, early.body]).toMatchObject([202, { kind: 'resolve', status: 'pending', out_trade_no: 'r1' }])
    const { rows } = await it.pool.query(
      `select kind, lane, merchant, actor, body, idempotency_key from commands where idempotency_key = 'r1'`,
    )
    expect(rows).toEqual([
      {
        ...{ kind: 'resolve', lane: 3, merchant: 'acme', actor: 'operator-0', idempotency_key: 'r1' },
        body: { anomalyId: id, resolution: 'ignore', reason: 'the shop knows' },
      },
    ])
    await decide({ kind: 'done', status: 'closed' })
    const again = await post(ann, id, 'resolve', answer, 'r1')
    expect([again.status, again.body['result']]).toEqual([200, { kind: 'done', status: 'closed' }])
    expect((await ann('GET', early.headers.get('location') ?? '')).body).toEqual(again.body)
  })
  test('the same key is the same answer of the same person about the same anomaly', async () => {
    const [id, other] = [await given('r2'), await given('r2b')]
    await post(ann, id, 'resolve', answer, 'r2')
    const all = await Promise.all([
      post(ann, id, 'resolve', { ...answer, resolution: 'refund_outside' }, 'r2'),
      post(ann, id, 'resolve', { ...answer, reason: 'another' }, 'r2'),
      post(ann, other, 'resolve', answer, 'r2'),
      post(bob, id, 'resolve', answer, 'r2'),
    ])
    expect(all.map(({ status, body }) => [status, body['field']])).toEqual(all.map(() => [422, 'Idempotency-Key']))
    await decide({ kind: 'done', status: 'closed' })
  })
  test.each([
    [{ reason: 'already_resolved', resolution: 'ignore', by: 'bob' }, 'It was resolved before, by bob: ignore.'],
    [{ reason: 'claimed', owner: 'bob' }, 'bob works on it.'],
    [{ reason: 'group_is_paid', orderId: 7 }, 'Another order of its group is paid.'],
    [
      { reason: 'not_allowed', anomaly: 'disputed', allowed: ['ignore'] },
      'An anomaly disputed of an order in this status takes: ignore.',
    ],
  ])('409 %o', async (refusal, detail) => {
    const id = await given(`r3-${refusal.reason}`)
    const [asked] = await Promise.all([
      post(ann, id, 'resolve', answer, `r3-${refusal.reason}`),
      decide({ kind: 'refused', status: 'closed', refusal }),
    ])
    expect([asked.status, asked.body['reason'], asked.body['detail']]).toEqual([409, refusal.reason, detail])
  })
  test.each([
    ['no key', answer, undefined, 'Idempotency-Key'],
    ['no reason', { resolution: 'ignore' }, 'k', 'reason'],
    ['an empty reason', { ...answer, reason: '  ' }, 'k', 'reason'],
    ['a long reason', { ...answer, reason: 'x'.repeat(501) }, 'k', 'reason'],
    ['a reason of two lines', { ...answer, reason: 'a\nb' }, 'k', 'reason'],
    ['no resolution', { reason: 'r' }, 'k', 'resolution'],
    ['an unknown one', { ...answer, resolution: 'refunded' }, 'k', 'resolution'],
    ['an unknown field', { ...answer, actor: 'bob' }, 'k', 'actor'],
  ])('%s is refused by name', async (what, body, key, field) => {
    const id = await given(`r4-${what.replaceAll(' ', '-')}`)
    const { status, body: said } = await post(ann, id, 'resolve', body, key)
    expect([status, said['field']]).toEqual([400, field])
  })
})

test('who may do what, with their own and with others’ anomalies', async () => {
  const [own, foreign] = [await given('own'), await given('foreign', { merchant: 'globex' })]
  const statuses = async (call: Call, id: number) => [
    (await call('GET', `/v1/anomalies/${id}`)).status,
    (await post(call, id, 'claim')).status,
    (await post(call, id, 'release')).status,
    (await post(call, id, 'resolve', { resolution: 'ignore', reason: 'r' }, randomUUID())).status,
  ]
  const readOnly = [200, 403, 403, 403]
  expect(await statuses(await it.as('merchant', 'acme'), own)).toEqual(readOnly)
  expect(await statuses(await it.as('viewer', 'acme'), own)).toEqual(readOnly)
  expect(await statuses(await it.as('operator', 'acme'), own)).toEqual([200, 200, 200, 202])
  expect(await statuses(await it.as('admin', null), own)).toEqual([200, 200, 200, 202])
  expect(await statuses(await it.as('operator', 'acme'), foreign)).toEqual([404, 404, 404, 404])
})

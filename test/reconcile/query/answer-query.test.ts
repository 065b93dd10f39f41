import { expect, test } from 'vitest'
import type { QueryAnswer, QueryClient } from '../../../src/providers/query.ts'
import { answerQuery, type AnswerDeps } from '../../../src/reconcile/answer-query.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { createQueryMetrics } from '../../../src/reconcile/metrics.ts'
import type { LeasedQuery } from '../../../src/store/lease-queries.ts'
import type { Fact } from '../../../src/orders/model.ts'
import { payment } from '../../helpers/installation.ts'
import { NOT_PAID, paidAnswer } from '../../helpers/reconciler.ts'

const MIN = 60_000
const CREATED_MS = Date.parse('2026-03-04T05:06:07Z')
const EXPIRES_MS = CREATED_MS + 60 * MIN
const SCHEDULE = {
  ...{ firstMs: MIN, spreadMs: 30_000, lastMs: 30 * MIN, heldTriesMax: 3, hintTriesMax: 10, lookMs: 60 * MIN },
}

/** A question about an order, asked at a moment of providers that take a while. */
async function asked(
  clients: Readonly<Record<string, QueryAnswer>>,
  { ref = 'payment', atMs = EXPIRES_MS + 1, takesMs = 0 } = {},
) {
  let nowMs = atMs
  const clock: Clock = { now: () => new Date(nowMs), elapsedMs: () => nowMs }
  const published: string[] = []
  const deps: AnswerDeps = {
    ...{ schedule: SCHEDULE, clock, answerMsMax: 10_000, random: () => 0.5, reach: () => undefined },
    ...{ log: createLog('test', 'silent'), metrics: createQueryMetrics() },
    publish: (learnt) => {
      published.push(...learnt.map(({ provider }) => provider))
      return Promise.resolve({ kind: 'published', records: learnt.length })
    },
  }
  const client = (answer: QueryAnswer): QueryClient => ({
    ask: () => {
      nowMs += takesMs
      return Promise.resolve(answer)
    },
  })
  const query: LeasedQuery = {
    ...{ id: 1, merchant: 'shop', ref, attempts: 0, isDone: false, refreshedAtMs: null, leasedUntilMs: 0 },
    order: {
      ...{ id: 1, outTradeNo: 'A1', status: 'pending', heldCount: 0 },
      ...{ createdAtMs: CREATED_MS, expiresAtMs: EXPIRES_MS },
    },
  }
  const all = new Map(Object.entries(clients).map(([name, answer]) => [name, client(answer)]))
  return { ...(await answerQuery(query, all, new AbortController().signal, deps)), published }
}
const told = (fact: Partial<Fact>, more: object = {}): QueryAnswer => {
  const facts = [{ ...payment('A1').callback.facts[0], ...fact } as Fact]
  const message = { outTradeNo: 'A1', messageType: '', messageId: '', facts }
  return { kind: 'answered', messages: [message], rawBody: Buffer.from('{}'), rawHeaders: {}, ...more }
}
const AWAY: QueryAnswer = { kind: 'try_later', reason: 'timeout' }

test('an answer asked for before the expiry, that comes after it, leaves one question more', async () => {
  const slow = await asked({ wechatpay: NOT_PAID }, { atMs: EXPIRES_MS - 1, takesMs: 9_000 })
  expect(slow.settlement).toMatchObject({ kind: 'again', dueAtMs: EXPIRES_MS + 15_000 })
  expect((await asked({ wechatpay: NOT_PAID })).settlement).toMatchObject({ kind: 'done' })
})

test('a failed payment that one provider told of does not stand for the answer of another', async () => {
  const failed = told({ eventType: 'payment_failed' })
  const one = await asked({ stripe: failed, wechatpay: AWAY })
  expect(one.published).toEqual(['stripe'])
  expect(one.settlement).toMatchObject({ kind: 'again', answer: 'stripe: learnt; wechatpay: timeout' })
  // Paid is paid, whoever else is away.
  expect(
    (await asked({ stripe: paidAnswer({ kind: 'payment', outTradeNo: 'A1' }), wechatpay: AWAY })).settlement.kind,
  ).toBe('done')
  expect((await asked({ stripe: failed, wechatpay: NOT_PAID })).settlement.kind).toBe('done')
})

test('a hint stays while the provider tells of other refunds only', async () => {
  const other = told({ eventType: 'refund_succeeded' }, { isUndecided: true })
  const one = await asked({ 'wechatpay-v2': other }, { ref: 'refund:R2' })
  expect(one.published).toEqual(['wechatpay-v2'])
  expect(one.settlement).toMatchObject({ kind: 'again' })
  const its = told({ eventType: 'refund_succeeded' }, { isUndecided: false })
  expect((await asked({ 'wechatpay-v2': its }, { ref: 'refund:R2' })).settlement).toEqual({ kind: 'remove' })
})

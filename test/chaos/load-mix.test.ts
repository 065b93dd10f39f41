import { expect, test } from 'vitest'
import type { LogLine, SentLine } from '../../chaos/checker/capture.ts'
import { loadMix } from '../../chaos/load-mix.ts'

const fact = (eventType: string, outTradeNo: string, amountMinor = 10) => ({
  ...{ outTradeNo, eventType, providerRef: `w:${outTradeNo}`, paymentRef: null, amountMinor, currency: 'CNY' },
  ...{ amountKind: 'none', eventTimeMs: 0 },
})
const order = (outTradeNo: string, atMs: number): LogLine => ({
  ...{
    line: 'order',
    merchant: 'm',
    outTradeNo,
    atMs,
    latencyMs: 1,
    amountMinor: 10,
    currency: 'CNY',
    heard: 'created',
  },
})
const sent = (outTradeNo: string, atMs: number, more: Partial<SentLine> = {}): LogLine => ({
  ...{ line: 'delivery', merchant: 'm', outTradeNo, atMs, latencyMs: 10, provider: 'alipay', defect: 'none' },
  ...{
    gateway: 'g',
    status: 200,
    heard: 'success',
    requestSha256: 'x',
    facts: [fact('payment_succeeded', outTradeNo)],
  },
  ...more,
})

test('a repetition after failures alone is a retry, any other one a duplicate', () => {
  const { counts } = loadMix([
    ...[order('A', 0), sent('A', 100), sent('A', 100), sent('A', 500)],
    ...[order('B', 0), sent('B', 100, { heard: 'failure' }), sent('B', 300, { heard: 'no_answer' }), sent('B', 500)],
    // The first answer is still on its way: whoever sends again has not been refused.
    ...[order('C', 0), sent('C', 100, { heard: 'failure', latencyMs: 900 }), sent('C', 500)],
  ])
  expect(counts).toMatchObject({ orders: 3, deliveries: 8, genuine: 8, duplicates: 3, retries: 2 })
})

test('what is told early, is unknown, has another amount or a defect is counted as that', () => {
  const refund = (atMs: number) => sent('B', atMs, { facts: [fact('refund_succeeded', 'B')] })
  const defects = ['wrong_signature', 'stale_timestamp', 'stranger', 'hostile', 'slow_head', 'probe', 'cut_off']
  const { counts, shares } = loadMix([
    ...[order('A', 200), sent('A', 100), order('B', 0), refund(100), sent('B', 200), order('C', 0), sent('C', 100)],
    ...[order('D', 0), sent('D', 100, { facts: [fact('payment_succeeded', 'D', 11)] }), sent('E', 100)],
    ...defects.map((defect) => sent('F', 100, { defect, heard: 'failure' })),
  ])
  expect(counts).toMatchObject({ forged: 3, hostile: 2, probes: 1, cutOff: 1, success: 6, failure: 7 })
  expect(shares).toMatchObject({ reorderedOrders: 0.4, unknownOrders: 0.2, wrongAmounts: 0.2, hostile: 0.154 })
})

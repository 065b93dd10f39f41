import { describe, expect, test } from 'vitest'
import { factCause } from '../../src/orders/identity.ts'
import type { Fact } from '../../src/orders/model.ts'
import { isSameFact } from '../../src/orders/receive-fact.ts'
import { composeBill } from '../../src/providers/wechatpay/compose-bill.ts'
import {
  composePayment,
  composeRefund,
  refundAnswer as refundAnswerV3,
  paymentResource,
  unpaidAnswer as unpaidAnswerV3,
} from '../../src/providers/wechatpay/compose.ts'
import { factsOfBillRow } from '../../src/providers/wechatpay/facts-of-bill.ts'
import * as v3 from '../../src/providers/wechatpay/facts-of-query.ts'
import { readBill } from './read-bill.ts'
import {
  orderAnswer,
  paymentFields,
  refundAnswer,
  refundNotice as composeRefundNotice,
  unknownAnswer,
  unpaidAnswer,
} from '../../src/providers/wechatpay-v2/compose.ts'
import { factsOfPaymentQuery, factsOfRefundQuery } from '../../src/providers/wechatpay-v2/facts-of-query.ts'
import { parseFlatXml } from '../../src/providers/wechatpay-v2/parse-flat-xml.ts'
import { signPayment, type NoticeFields } from '../../src/providers/wechatpay-v2/sign.ts'
import { verifySignature } from '../../src/providers/wechatpay-v2/verify.ts'
import * as subjectV3 from './wechatpay-subject.ts'
import { direct, paid, recipient, refundOf, subMerchant, partnerRecipient } from './wechatpay-subject.ts'
import { bound, config, KEY, notice, NOW, provider, refundNotice } from './wechatpay-v2-subject.ts'

const LATER = new Date('2024-05-21T02:00:00Z')
/** An answer as it comes: signed XML, read and verified. */
function answer(fields: NoticeFields) {
  const read = parseFlatXml(signPayment(fields, KEY).rawBody, 'xml')
  if (typeof read === 'string') throw new Error(read)
  expect(verifySignature(read, config, LATER)).toBeUndefined()
  return read
}
const facts = (found: readonly Fact[] | string): readonly Fact[] => {
  if (typeof found === 'string') throw new Error(found)
  return found
}
const only = (found: readonly Fact[]): Fact => {
  expect(found).toHaveLength(1)
  const [fact] = found
  if (fact === undefined) throw new Error('no fact')
  return fact
}
const queried = (fields: NoticeFields, to = recipient) => facts(factsOfPaymentQuery(answer(fields), to, LATER))
const refundsQueried = (fields: NoticeFields, to = recipient) => facts(factsOfRefundQuery(answer(fields), to, LATER))
const told = (fields: NoticeFields, by = provider): readonly Fact[] => {
  const verdict = by.verify(notice(fields), NOW)
  if (verdict.kind === 'refused') throw new Error(JSON.stringify(verdict.rejection))
  return verdict.messages.flatMap((message) => message.facts)
}
const toldByV3 = (envelope: Parameters<typeof subjectV3.notice>[0]): readonly Fact[] => {
  const verdict = subjectV3.provider.verify(subjectV3.notice(envelope), NOW)
  if (verdict.kind === 'refused') throw new Error(JSON.stringify(verdict.rejection))
  return verdict.messages.flatMap((message) => message.facts)
}
const billed = (...of: [Parameters<typeof composeBill>[1], Parameters<typeof composeBill>[2]]) =>
  (readBill(composeBill(direct, ...of))?.rows ?? []).flatMap((row) => {
    const found = factsOfBillRow(row, recipient)
    if (typeof found === 'string') throw new Error(found)
    return found.facts
  })

test('one payment is one fact: told by v2 and by v3, asked of v2 and of v3, and billed', () => {
  const first = only(told(paymentFields(direct, paid(1))))
  expect(first.providerRef).toBe(`wechatpay:${paid(1).transactionId}`)
  const others = [
    told(paymentFields(direct, { ...paid(1), payerFen: 1 })),
    toldByV3(composePayment('EV-1', direct, paid(1))),
    queried(orderAnswer(direct, paid(1))),
    queried(orderAnswer(direct, paid(1), 'REFUND')),
    facts(v3.factsOfPaymentQuery(paymentResource(direct, paid(1)), recipient, LATER)),
    billed([paid(1)], []),
  ]
  for (const other of others.map(only)) {
    expect(isSameFact(other, first)).toBe(true)
    expect(other).toMatchObject({ eventType: first.eventType, providerRef: first.providerRef })
    expect(factCause(other)).toBe(factCause(first))
    expect(other.eventTimeMs).toBe(paid(1).paidAt.getTime())
  }
})

test('one refund is one fact: told by v3, asked of v2 and of v3, and billed', () => {
  const first = only(toldByV3(composeRefund('EV-2', direct, refundOf(1))))
  for (const other of [
    refundsQueried(refundAnswer(direct, [refundOf(1)])),
    facts(v3.factsOfRefundQuery(refundAnswerV3(refundOf(1)), LATER)),
    billed([], [refundOf(1)]),
  ].map(only)) {
    expect(isSameFact(other, first)).toBe(true)
    expect(factCause(other)).toBe(factCause(first))
    expect(other.paymentRef).toBe(first.paymentRef)
    expect(other.detail).toBe(first.detail)
  }
  for (const status of ['ABNORMAL', 'CLOSED'] as const) {
    const failed = only(refundsQueried(refundAnswer(direct, [refundOf(1, { status })])))
    expect(failed).toEqual({
      ...only(facts(v3.factsOfRefundQuery(refundAnswerV3(refundOf(1, { status })), LATER))),
      eventTimeMs: failed.eventTimeMs,
    })
    expect(failed.providerRef).toBe(`wechatpay:${refundOf(1).refundId}/${status.toLowerCase()}`)
  }
})

test('a close that v2 tells is the close that v3 tells', () => {
  const closed = only(queried(unpaidAnswer(direct, 'T1', 'CLOSED')))
  const v3Answer = unpaidAnswerV3(direct, { outTradeNo: 'T1', totalFen: 1 }, 'CLOSED')
  expect(closed).toEqual(only(facts(v3.factsOfPaymentQuery(v3Answer, recipient, LATER))))
})

test('a hint asks about the refund that its query names, by our number', () => {
  const { envelope, refund } = composeRefundNotice(direct, refundOf(2))
  const verdict = provider.verify(refundNotice(refund, envelope), NOW)
  expect(verdict).toMatchObject({
    messages: [{ outTradeNo: refundOf(2).outTradeNo, instead: { ref: `refund:${refundOf(2).outRefundNo}` } }],
  })
  const [fact] = refundsQueried(refundAnswer(direct, [refundOf(2)]))
  expect(fact?.detail).toContain(refundOf(2).outRefundNo)
})

test('two different facts never share an identity', () => {
  const all = [
    ...told(paymentFields(direct, paid(1))),
    ...told(paymentFields(direct, { ...paid(1), transactionId: '42000000009' })),
    ...refundsQueried(refundAnswer(direct, [refundOf(1), refundOf(2)])),
    ...refundsQueried(refundAnswer(direct, [refundOf(1, { status: 'CLOSED' })])),
    ...refundsQueried(refundAnswer(direct, [refundOf(1, { status: 'ABNORMAL' })])),
    ...queried(unpaidAnswer(direct, 'T1', 'CLOSED')),
  ]
  expect(all).toHaveLength(7)
  expect(new Set(all.map(factCause)).size).toBe(all.length)
})

describe('answers', () => {
  test('that say nothing certain are no facts', () => {
    expect(queried(unpaidAnswer(direct, 'T1', 'NOTPAY'))).toEqual([])
    for (const trade_state of ['USERPAYING', 'PAYERROR', 'REVOKED', 'ACCEPT'])
      expect(queried({ ...unpaidAnswer(direct, 'T1', 'NOTPAY'), trade_state })).toEqual([])
    expect(queried(unknownAnswer(direct, 'ORDERNOTEXIST'))).toEqual([])
    expect(refundsQueried(unknownAnswer(direct, 'REFUNDNOTEXIST'))).toEqual([])
    expect(refundsQueried(refundAnswer(direct, [refundOf(1, { status: 'PROCESSING' })]))).toEqual([])
    const some = refundAnswer(direct, [refundOf(1, { status: 'PROCESSING' }), refundOf(2)])
    expect(only(refundsQueried(some)).providerRef).toBe(`wechatpay:${refundOf(2).refundId}`)
  })

  test('of a partner name its merchant', () => {
    const party = subMerchant()
    const [partnerConfig] = [{ ...config, ...partnerRecipient }]
    expect(told(paymentFields(party, paid(1)), bound(partnerConfig))).toHaveLength(1)
    expect(queried(orderAnswer(party, paid(1)), partnerRecipient)).toHaveLength(1)
    expect(refundsQueried(refundAnswer(party, [refundOf(1)]), partnerRecipient)).toHaveLength(1)
    expect(factsOfPaymentQuery(answer(orderAnswer(party, paid(1))), recipient, LATER)).toBe('sub_mch_id')
    expect(factsOfRefundQuery(answer(refundAnswer(direct, [refundOf(1)])), partnerRecipient, LATER)).toBe('sub_mch_id')
    const otherApp = { ...orderAnswer(party, paid(1)), sub_appid: 'wx0000000000000099' }
    const strict = { ...partnerRecipient, subAppids: new Set(['wx0000000000000009']) }
    expect(factsOfPaymentQuery(answer(otherApp), strict, LATER)).toBe('sub_appid')
    expect(queried(orderAnswer(party, paid(1)), strict)).toHaveLength(1)
  })

  test.for([
    ['return_code', { return_code: 'FAIL' }],
    ['result_code', { result_code: 'FAIL', err_code: 'SYSTEMERROR' }],
    ['result_code', { result_code: '' }],
    ['mch_id', { mch_id: '1900000009' }],
    ['appid', { appid: '' }],
    ['out_trade_no', { out_trade_no: '' }],
    ['trade_state', { trade_state: '' }],
    ['trade_state', { trade_state: 'PAID' }],
    ['transaction_id', { transaction_id: '' }],
    ['total_fee', { total_fee: '1.00' }],
    ['fee_type', { fee_type: 'cny' }],
  ] as const)('to orderquery are not taken with a wrong %s: %o', ([field, change]) =>
    expect(factsOfPaymentQuery(answer({ ...orderAnswer(direct, paid(1)), ...change }), recipient, LATER)).toBe(field),
  )

  test.for([
    ['return_code', { return_code: 'FAIL' }],
    ['result_code', { result_code: 'FAIL', err_code: 'SYSTEMERROR' }],
    ['mch_id', { mch_id: '' }],
    ['refund_count', { refund_count: '' }],
    ['refund_count', { refund_count: '51' }],
    ['refund_status_1', { refund_count: '2' }],
    ['refund_status_0', { refund_status_0: 'NOTSURE' }],
    ['refund_id_0', { refund_id_0: '' }],
    ['refund_fee_0', { refund_fee_0: '-1' }],
    ['transaction_id', { transaction_id: '' }],
    ['fee_type', { fee_type: '156' }],
  ] as const)('to refundquery are not taken with a wrong %s: %o', ([field, change]) =>
    expect(factsOfRefundQuery(answer({ ...refundAnswer(direct, [refundOf(1)]), ...change }), recipient, LATER)).toBe(
      field,
    ),
  )
})

import { createSecretKey, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { combinedResource, composeProfitSharing, composeRefund } from '../../src/providers/wechatpay/compose.ts'
import { sealEnvelope, signProbe, signRequest } from '../../src/providers/wechatpay/sign.ts'
import { signedMessage } from '../../src/providers/wechatpay/verify.ts'
import { passesSharedSuite, withoutHeader } from './shared-suite.ts'
import { otherPrivateKey, platform } from './vectors.ts'
import {
  bound,
  certificate,
  direct,
  keys,
  notice,
  NOW,
  paid,
  payment,
  platformSigner,
  provider,
  PUBLIC_KEY_ID,
  refundOf,
  sharing,
  signedBytes,
  transaction,
} from './wechatpay-subject.ts'

const withField = (path: string, value: unknown) => {
  const resource = structuredClone(transaction) as Record<string, unknown>
  const [outer = '', inner] = path.split('.')
  if (inner === undefined) resource[outer] = value
  else resource[outer] = { ...(resource[outer] as object), [inner]: value }
  return notice({ resource })
}
const without = (...fields: string[]) => {
  const resource: Record<string, unknown> = { ...transaction }
  for (const field of fields) Reflect.deleteProperty(resource, field)
  return resource
}
const message = {
  outTradeNo: transaction.out_trade_no,
  messageType: 'TRANSACTION.SUCCESS',
  messageId: payment.id,
  facts: [
    {
      eventType: 'payment_succeeded' as const,
      providerRef: 'wechatpay:4200002024052012345678901',
      paymentRef: null,
      amountMinor: 123456,
      currency: 'CNY',
      amountKind: 'none' as const,
      eventTimeMs: Date.parse('2024-05-20T05:29:35Z'),
      detail: null,
    },
  ],
}
const statusOf = (detail: string) => detail.split('; ')[1] ?? ''
const refundMessage = (n: number, eventType: 'refund_succeeded' | 'refund_failed', detail: string) => ({
  outTradeNo: `T${n}`,
  messageType: `REFUND.${eventType === 'refund_succeeded' ? 'SUCCESS' : statusOf(detail)}`,
  messageId: `EV-${n}`,
  facts: [
    {
      eventType,
      providerRef: `wechatpay:503020${n}${eventType === 'refund_failed' ? `/${statusOf(detail).toLowerCase()}` : ''}`,
      paymentRef: `wechatpay:42000020240520${n}`,
      amountMinor: 30 * n,
      currency: 'CNY',
      amountKind: 'individual' as const,
      // Only what succeeded has a time of its own; then it is when the notice was written.
      eventTimeMs: NOW.getTime(),
      detail,
    },
  ],
})
const shared = composeProfitSharing('EV-1', direct, sharing)
const doubled = JSON.stringify(transaction).replace('"attach"', '"out_trade_no":"T9","attach"')

passesSharedSuite({
  name: 'wechatpay',
  now: NOW,
  provider,
  otherMerchant: bound({ mchid: '1900000002' }),
  otherMerchantRefuses: 'wrong_recipient',
  genuine: notice(),
  message,
  forged: notice({}, { ...platformSigner, privateKey: otherPrivateKey }),
  signsTime: true,
  headers: { timestamp: 'wechatpay-timestamp', signature: 'wechatpay-signature' },
  bytesHaveSpellings: false,
  signed: signedBytes,
  withField,
  identities: ['out_trade_no', 'transaction_id'],
  wrongTypes: [
    // With the provider's name before it, it would be too long.
    ['transaction_id', '4'.repeat(250)],
    ['out_trade_no', 12],
    ['out_trade_no', null],
    ['transaction_id', { $ne: 1 }],
    ['transaction_id', ['4200']],
    ['amount', 1],
    ['amount', null],
    ['amount.total', '123456'],
    ['amount.total', 1.5],
    ['amount.total', -1],
    ['amount.total', 2 ** 53 - 1],
    ['amount.total', null],
    ['amount.currency', 'cny'],
    ['amount.currency', 156],
    // Under the event type of a success: a contradiction, or a payment that would be lost.
    ['trade_state', 'NOTPAY'],
    ['trade_state', 'PAID'],
    ['trade_state', null],
    ['trade_state', undefined],
  ],
  duplicateField: notice({ resource: doubled }),
  kinds: [
    [
      'a refund',
      notice(composeRefund('EV-1', direct, refundOf(1))),
      [refundMessage(1, 'refund_succeeded', 'out_refund_no R-1')],
    ],
    [
      'a refund whose money could not go back',
      notice(composeRefund('EV-2', direct, refundOf(2, { status: 'ABNORMAL' }))),
      [refundMessage(2, 'refund_failed', 'out_refund_no R-2; ABNORMAL')],
    ],
    [
      'a refund that came to nothing',
      notice(composeRefund('EV-3', direct, refundOf(3, { status: 'CLOSED' }))),
      [refundMessage(3, 'refund_failed', 'out_refund_no R-3; CLOSED')],
    ],
    [
      'a refund as the samples write it, without the type of the resource',
      notice({ ...composeRefund('EV-1', direct, refundOf(1)), originalType: undefined }),
      [refundMessage(1, 'refund_succeeded', 'out_refund_no R-1')],
    ],
  ],
  noEffect: [
    ['a profit-sharing movement under the event type of a payment', notice(shared), null],
    ['a profit-sharing movement that looks like a payment', notice({ originalType: 'profitsharing' }), 'T1-2024_05|*'],
    [
      'a profit-sharing movement of another merchant, of which we have a share',
      notice({ ...shared, eventType: 'PROFITSHARING.SUCCESS', resource: { mchid: '1900000003', transaction_id: '4' } }),
      null,
    ],
    [
      'a transfer that is done',
      notice({ ...shared, eventType: 'MCHTRANSFER.BATCH.FINISHED', originalType: 'mchtransfer' }),
      null,
    ],
    ['what the buyer paid back to WeChat Pay', notice({ eventType: 'TRANSACTION.PAY_BACK' }), 'T1-2024_05|*'],
  ],
  unmapped: [
    ['an event type that nobody has heard of', notice({ eventType: 'TRANSACTION.LATER' }), 'T1-2024_05|*'],
    ['a payment under the type of another resource', notice({ originalType: 'payscore' }), 'T1-2024_05|*'],
    [
      'a refund that is on its way',
      notice({ ...composeRefund('EV-1', direct, refundOf(1)), eventType: 'REFUND.PROCESSING' }),
      'T1',
    ],
    [
      'a refund under the type of another resource',
      notice({ ...composeRefund('EV-1', direct, refundOf(1)), originalType: 'transaction' }),
      'T1',
    ],
    [
      'a message without an order',
      notice({ eventType: 'COMPLAINT.CREATE', originalType: 'x', resource: { a: 1 } }),
      null,
    ],
  ],
})

describe('wechatpay', () => {
  test('takes either family of keys, by the serial that the sender names', () => {
    const byCertificate = notice({}, { ...platformSigner, serial: certificate.serialNumber })
    expect(provider.verify(byCertificate, NOW)).toEqual({ kind: 'verified', messages: [message] })
    // Same key, other name: which one signed is never guessed.
    for (const serial of ['PUB_KEY_ID_02', PUBLIC_KEY_ID.toLowerCase(), '0', '389173871612', 'constructor', 'ff'])
      expect(provider.verify(notice({}, { ...platformSigner, serial }), NOW)).toEqual({
        kind: 'refused',
        rejection: { kind: 'unknown_key', keyId: serial },
      })
  })

  test('a serial in lower case was an unknown key', () => {
    const lower = notice({}, { ...platformSigner, serial: certificate.serialNumber.toLowerCase() })
    expect(certificate.serialNumber.toLowerCase()).not.toBe(certificate.serialNumber)
    expect(provider.verify(lower, NOW)).toEqual({ kind: 'verified', messages: [message] })
    expect(provider.inspect.namedKey(lower)).toBe(certificate.serialNumber)
    expect(provider.inspect.namedKey(notice())).toBe(PUBLIC_KEY_ID)
    const nothing = { headers: {}, repeatedHeaders: [], rawBody: Buffer.alloc(0) }
    expect(provider.inspect.namedKey(nothing)).toBeUndefined()
  })

  test('refuses a certificate that has expired, though it signed well', () => {
    const late = new Date(certificate.validToDate.getTime() + 60_000)
    const signer = { ...platformSigner, serial: certificate.serialNumber }
    const request = {
      ...signRequest(sealEnvelope(payment, platform.apiV3Key, late), signer, late),
      repeatedHeaders: [],
    }
    expect(provider.verify(request, late)).toMatchObject({ rejection: { kind: 'unknown_key' } })
  })

  test('refuses the probes, also with a right signature behind the mark, and counts them apart', () => {
    const body = sealEnvelope(payment, platform.apiV3Key, NOW)
    const probe = { kind: 'refused', rejection: { kind: 'signature_probe' } }
    for (const form of ['another_signature', 'invalid_base64', 'right_signature'] as const)
      expect(provider.verify({ ...signProbe(body, platformSigner, NOW, form), repeatedHeaders: [] }, NOW)).toEqual(
        probe,
      )
    const { headers } = signRequest(body, platformSigner, NOW)
    for (const behindMark of ['A', '']) {
      const marked = { ...headers, 'wechatpay-signature': `WECHATPAY/SIGNTEST/${behindMark}` }
      expect(provider.verify({ headers: marked, repeatedHeaders: [], rawBody: body }, NOW)).toEqual(probe)
    }
  })

  test('refuses another kind of signature, and takes its name for given when it is missing', () => {
    const genuine = notice()
    const headers = withoutHeader(genuine, 'wechatpay-signature-type')
    expect(provider.verify({ ...genuine, headers }, NOW).kind).toBe('verified')
    const other = { ...headers, 'wechatpay-signature-type': 'WECHATPAY2-SM2-WITH-SM3' }
    expect(provider.verify({ ...genuine, headers: other }, NOW)).toMatchObject({ rejection: { kind: 'malformed' } })
    // Named twice, it counted as missing.
    const repeatedHeaders = ['wechatpay-signature-type']
    expect(provider.verify({ headers, repeatedHeaders, rawBody: genuine.rawBody }, NOW)).toEqual({
      kind: 'refused',
      rejection: { kind: 'repeated_header', header: 'wechatpay-signature-type' },
    })
  })

  test('opens with any of the APIv3 keys held; with none it is our trouble, and the sender comes again', () => {
    const former = 'f'.repeat(32)
    const request = notice({}, { ...platformSigner, apiV3Key: former })
    expect(provider.verify(request, NOW)).toEqual({ kind: 'refused', rejection: { kind: 'undecryptable' } })
    const formerKey = { value: createSecretKey(Buffer.from(former)), validToMs: NOW.getTime() }
    const changing = bound({ apiV3Keys: [...keys.apiV3Keys, formerKey] })
    expect(changing.verify(request, NOW).kind).toBe('verified')
    // Past its end it opens nothing, though it would.
    expect(changing.verify(request, new Date(NOW.getTime() + 1))).toEqual({
      kind: 'refused',
      rejection: { kind: 'undecryptable' },
    })
  })

  test('checks the tag: one flipped bit of the ciphertext, well signed, is refused', () => {
    const envelope = JSON.parse(sealEnvelope(payment, platform.apiV3Key, NOW).toString()) as {
      resource: { ciphertext: string; nonce: string; associated_data: string }
    }
    const sealed = Buffer.from(envelope.resource.ciphertext, 'base64')
    for (const index of [0, 100, sealed.length - 17, sealed.length - 16, sealed.length - 1]) {
      const flipped = Buffer.from(sealed)
      flipped[index] = (flipped[index] ?? 0) ^ 1
      const body = { ...envelope, resource: { ...envelope.resource, ciphertext: flipped.toString('base64') } }
      const verdict = provider.verify(signedBytes(Buffer.from(JSON.stringify(body))), NOW)
      expect(verdict).toEqual({ kind: 'refused', rejection: { kind: 'undecryptable' } })
    }
    for (const change of [{ associated_data: 'transactiox' }, { nonce: 'abcdefabcdef' }]) {
      const body = { ...envelope, resource: { ...envelope.resource, ...change } }
      const verdict = provider.verify(signedBytes(Buffer.from(JSON.stringify(body))), NOW)
      expect(verdict).toEqual({ kind: 'refused', rejection: { kind: 'undecryptable' } })
    }
  })

  test.for([
    ['event_type', { event_type: 7 }],
    ['resource', { resource: null }],
    ['resource.algorithm', { resource: { algorithm: 'AEAD_SM4_GCM' } }],
    ['resource.nonce', { resource: { nonce: '' } }],
    ['resource.nonce', { resource: { nonce: 'abc' } }],
    ['resource.nonce', { resource: { nonce: 'n'.repeat(64) } }],
    ['resource.nonce', { resource: { nonce: '订单订单订单订单订单订单' } }],
    ['resource.ciphertext', { resource: { ciphertext: 'AAAA' } }],
    ['resource.ciphertext', { resource: { ciphertext: 5 } }],
    ['resource.associated_data', { resource: { associated_data: 5 } }],
    ['resource.original_type', { resource: { original_type: {} } }],
  ] as const)('names the part of the envelope that is wrong: %s', ([field, change]) => {
    const envelope = JSON.parse(sealEnvelope(payment, platform.apiV3Key, NOW).toString()) as { resource: object }
    const resource = 'resource' in change && change.resource ? { ...envelope.resource, ...change.resource } : null
    const body = { ...envelope, ...change, ...('resource' in change ? { resource } : {}) }
    const verdict = provider.verify(signedBytes(Buffer.from(JSON.stringify(body))), NOW)
    expect(verdict).toMatchObject({ kind: 'refused', rejection: { kind: 'malformed', field } })
  })

  test('refuses a resource that is no UTF-8 text: two readers would see two order numbers in it', () => {
    const text = Buffer.from(JSON.stringify({ ...transaction, out_trade_no: 'T-' }))
    text[text.indexOf('T-"') + 1] = 0xff
    expect(provider.verify(notice({ resource: text }), NOW)).toMatchObject({
      rejection: { kind: 'malformed', field: 'resource' },
    })
  })

  test.for(['a b', 'é', 'n'.repeat(129)])('refuses %s as a nonce, though it was signed with it', (nonce) => {
    const { headers, rawBody } = notice()
    const message = signedMessage(headers['wechatpay-timestamp'] ?? '', nonce, rawBody)
    const signature = sign('RSA-SHA256', message, platformSigner.privateKey).toString('base64')
    const signed = { ...headers, 'wechatpay-nonce': nonce, 'wechatpay-signature': signature }
    expect(provider.verify({ headers: signed, repeatedHeaders: [], rawBody }, NOW)).toEqual({
      kind: 'refused',
      rejection: { kind: 'malformed', field: 'wechatpay-nonce' },
    })
  })

  test('is no payment without the merchant and the app in it, or with others than ours', () => {
    const verdictOf = (resource: object) => provider.verify(notice({ resource }), NOW)
    const wrong = (field: string) => ({ kind: 'refused', rejection: { kind: 'wrong_recipient', field } })
    expect(verdictOf(without('mchid'))).toEqual(wrong('mchid'))
    expect(verdictOf(without('appid'))).toEqual(wrong('appid'))
    expect(verdictOf({ ...transaction, mchid: 1900000001 })).toEqual(wrong('mchid'))
    expect(verdictOf({ ...transaction, appid: 'wx0000000000000009' })).toEqual(wrong('appid'))
    expect(verdictOf({ ...transaction, appid: 'wx0000000000000002' }).kind).toBe('verified')
    const partner = { ...without('mchid', 'appid'), sp_mchid: '1900000001', sub_mchid: '1900000009' }
    expect(verdictOf(partner)).toEqual(wrong('mchid'))
    const elsewhere = notice({
      eventType: 'REFUND.SUCCESS',
      originalType: 'refund',
      resource: { ...(composeRefund('EV-1', { mchid: '1' }, refundOf(1)).resource as object) },
    })
    expect(provider.verify(elsewhere, NOW)).toEqual(wrong('mchid'))
  })

  test('takes a sample without original_type for what associated_data says', () => {
    for (const originalType of [undefined, '']) {
      const unnamed = (associatedData: string) => provider.verify(notice({ originalType, associatedData }), NOW)
      expect(unnamed('transaction')).toEqual({ kind: 'verified', messages: [message] })
      expect(unnamed('profitsharing')).toMatchObject({ messages: [{ facts: [], instead: { kind: 'no_effect' } }] })
    }
  })

  test.for(['', 'odd', 'Transaction'])(
    'a payment without original_type and with associated_data %j was answered with success and lost',
    (associatedData) => {
      const unnamed = (resource: unknown) =>
        provider.verify(notice({ originalType: undefined, associatedData, resource: resource as object }), NOW)
      expect(unnamed(transaction)).toEqual({ kind: 'verified', messages: [message] })
      // Whatever of a payment is in it: it is one, or it comes again.
      for (const [field, resource] of [
        ['trade_state', without('trade_state')],
        ['trade_state', { ...transaction, trade_state: 'NOTPAY' }],
        ['out_trade_no', without('out_trade_no')],
        ['transaction_id', without('transaction_id')],
        ['amount', without('amount')],
        ['trade_state', without('trade_state', 'amount', 'out_trade_no')],
        ['trade_state', without('trade_state', 'amount', 'transaction_id')],
      ] as const)
        expect(unnamed(resource)).toEqual({ kind: 'refused', rejection: { kind: 'malformed', field } })
      const orders = [[direct, paid(1)]] as const
      expect(unnamed(combinedResource('C1', orders))).toMatchObject({ messages: [{ outTradeNo: 'T1', facts: [{}] }] })
      // What is none: a profit-sharing movement of which nobody says so, and what nobody knows.
      for (const resource of [shared.resource, { mchid: '1900000001', note: 'x' }])
        expect(unnamed(resource)).toMatchObject({ kind: 'verified', messages: [{ facts: [] }] })
      const refund = { ...composeRefund('EV-1', direct, refundOf(1)), originalType: undefined, associatedData }
      expect(provider.verify(notice(refund), NOW)).toMatchObject({ messages: [{ facts: [{}] }] })
    },
  )

  test('reads any time that WeChat Pay writes, and refuses no payment for one that it does not', () => {
    const timeOf = (success_time: unknown) => {
      const verdict = provider.verify(notice({ resource: { ...transaction, success_time } }), NOW)
      return verdict.kind === 'verified' ? verdict.messages[0].facts[0]?.eventTimeMs : verdict
    }
    expect(timeOf('2024-05-20T13:29:35.120+08:00')).toBe(Date.parse('2024-05-20T05:29:35.120Z'))
    expect(timeOf('20240520132935')).toBe(Date.parse('2024-05-20T05:29:35Z'))
    for (const other of ['yesterday', 5, undefined, '9999-99-99T99:99:99+08:00'])
      expect(timeOf(other)).toBe(NOW.getTime())
  })

  test('reads a combined payment as one message per order', () => {
    const order = (n: number, change: object = {}) => ({
      mchid: '1900000001',
      out_trade_no: `T${n}`,
      transaction_id: `420000${n}`,
      trade_state: 'SUCCESS',
      success_time: '2024-05-20T13:29:35+08:00',
      amount: { total_amount: n, payer_amount: 0, currency: 'CNY' },
      ...change,
    })
    const combined = (sub_orders: unknown, change: object = {}) =>
      provider.verify(
        notice({
          resource: {
            combine_mchid: '1900000001',
            combine_appid: 'wx0000000000000001',
            combine_out_trade_no: 'C1',
            sub_orders,
            ...change,
          },
        }),
        NOW,
      )
    expect(combined([order(1), order(2)])).toMatchObject({
      messages: [
        { outTradeNo: 'T1', facts: [{ providerRef: 'wechatpay:4200001', amountMinor: 1 }] },
        { outTradeNo: 'T2', facts: [{ providerRef: 'wechatpay:4200002', amountMinor: 2 }] },
      ],
    })
    for (const trade_state of ['NOTPAY', 'CLOSED'])
      expect(combined([order(1), order(2, { trade_state })])).toMatchObject({
        messages: [{ facts: [{}] }, { facts: [] }],
      })
    const refusalOf = (...given: Parameters<typeof combined>) => {
      const verdict = combined(...given)
      return verdict.kind === 'refused' ? verdict.rejection : verdict
    }
    expect(refusalOf([order(1), order(2, { mchid: '1900000002' })])).toMatchObject({ kind: 'wrong_recipient' })
    expect(refusalOf([order(1)], { combine_mchid: '1900000002' })).toMatchObject({ kind: 'wrong_recipient' })
    expect(refusalOf([order(1)], { combine_appid: 'wx9' })).toMatchObject({ kind: 'wrong_recipient' })
    expect(refusalOf([order(1), order(2, { transaction_id: '' })])).toEqual({
      kind: 'malformed',
      field: 'sub_orders.transaction_id',
    })
    expect(refusalOf([order(1), order(2, { out_trade_no: 'x'.repeat(65) })])).toEqual({
      kind: 'malformed',
      field: 'sub_orders.out_trade_no',
    })
    expect(refusalOf([order(1, { amount: { total: 1 } })])).toEqual({ kind: 'malformed', field: 'sub_orders.amount' })
    // One whose state nobody says may be paid: it would be lost.
    for (const trade_state of [undefined, null, 'PAID', 'REFUND'])
      expect(refusalOf([order(1), order(2, { trade_state })])).toEqual({
        kind: 'malformed',
        field: 'sub_orders.trade_state',
      })
    for (const orders of [[], 'x', [null], Array.from({ length: 51 }, (_, n) => order(n))])
      expect(refusalOf(orders)).toEqual({ kind: 'malformed', field: 'sub_orders' })
  })
})

import { describe, expect, test } from 'vitest'
import { apiKey } from '../../src/providers/wechatpay-v2/api-key.ts'
import { flatXml, sealReqInfo, signFields, xmlRequest } from '../../src/providers/wechatpay-v2/sign.ts'
import { passesSharedSuite } from './shared-suite.ts'
import {
  APPID,
  bothTypes,
  bound,
  config,
  contract,
  failed,
  hint,
  KEY,
  message,
  notice,
  NOW,
  OTHER_KEY,
  paid,
  payment,
  provider,
  refund,
  refundEnvelope,
  refundNotice,
  request,
  signedBytes,
  without,
  xmlOf,
} from './wechatpay-v2-subject.ts'

const verified = { kind: 'verified', messages: [message] }
const hinted = { kind: 'verified', messages: [hint] }
const refused = (kind: string, field?: string) => ({
  kind: 'refused',
  rejection: field === undefined ? { kind } : { kind, field },
})
const verdictOf = (fields: Readonly<Record<string, string>>) => provider.verify(notice(fields), NOW)
const doubled = xmlOf(payment).toString().replace('</xml>', '<total_fee>1</total_fee></xml>')

passesSharedSuite({
  name: 'wechatpay-v2',
  now: NOW,
  provider,
  // Two of our merchants may have one API key; where they have not, it is the signature that is wrong.
  otherMerchant: bound({ mchid: '1900000002' }),
  otherMerchantRefuses: 'wrong_recipient',
  genuine: notice(),
  message,
  forged: notice(payment, OTHER_KEY),
  signsTime: false,
  headers: {},
  bytesHaveSpellings: true,
  spaceAroundIsFree: true,
  signed: signedBytes,
  withField: (field, value) => notice({ ...payment, [field]: String(value) }),
  identities: ['out_trade_no', 'transaction_id'],
  wrongTypes: [
    // With the provider's name before it, it would be too long.
    ['transaction_id', '4'.repeat(250)],
    ['total_fee', ''],
    ['total_fee', '1.00'],
    ['total_fee', '1,234'],
    ['total_fee', '0100'],
    ['total_fee', '-1'],
    ['total_fee', '+1'],
    ['total_fee', '1e2'],
    ['total_fee', '0x10'],
    ['total_fee', ' 1'],
    ['total_fee', '1\n'],
    ['total_fee', '１'],
    ['total_fee', 'NaN'],
    ['total_fee', '9007199254740991'],
    ['total_fee', '12345678901234567'],
    ['fee_type', 'cny'],
    ['fee_type', '156'],
    ['result_code', ''],
    ['result_code', 'success'],
    ['return_code', ''],
    ['sign_type', 'RSA'],
    ['sign_type', 'HMAC-SHA1'],
    ['sign_type', 'hmac-sha256'],
  ],
  duplicateField: signedBytes(Buffer.from(doubled)),
  unmapped: [
    ['a contract', notice(contract), null],
    ['a message about nothing that we know', notice({ ...contract, contract_id: '' }), null],
  ],
  noEffect: [['a payment that came to nothing', notice(failed), 'T1-2024_05|*']],
  kinds: [['a refund that nobody signed for a hint', refundNotice(), [hint]]],
})

describe('wechatpay-v2', () => {
  test('the algorithm is ours to say: MD5 only where the merchant allows it', () => {
    for (const more of [{}, { sign_type: 'MD5' }]) {
      const md5 = notice({ ...payment, ...more }, KEY, 'MD5')
      expect(bothTypes.verify(md5, NOW)).toEqual(verified)
      expect(provider.verify(md5, NOW)).toMatchObject(refused('malformed', 'sign_type'))
      expect(bound({ signTypes: new Set(['MD5']) }).verify(md5, NOW)).toEqual(verified)
    }
    expect(bound({ signTypes: new Set(['MD5']) }).verify(notice(), NOW)).toMatchObject(
      refused('malformed', 'sign_type'),
    )
  })

  test('sign_type takes part where it is there, and names the algorithm that must have been used', () => {
    const named = { ...payment, sign_type: 'HMAC-SHA256' }
    expect(verdictOf(named)).toEqual(verified)
    const { sign = '' } = signFields(payment, KEY, 'HMAC-SHA256')
    expect(provider.verify(request(flatXml('xml', { ...named, sign })), NOW)).toEqual(refused('bad_signature'))
    const otherThanNamed = notice({ ...payment, sign_type: 'MD5' }, KEY, 'HMAC-SHA256')
    expect(bothTypes.verify(otherThanNamed, NOW)).toEqual(refused('bad_signature'))
    expect(bothTypes.verify(notice(named, KEY, 'MD5'), NOW)).toEqual(refused('bad_signature'))
  })

  test('a signature in any other spelling is none', () => {
    const { sign = '' } = signFields(payment, KEY, 'HMAC-SHA256')
    const spellings = [sign.toLowerCase(), ` ${sign}`, `${sign}\n`, sign.slice(0, 63), `${sign}0`, 'é'.repeat(64), 'x']
    for (const other of spellings)
      expect(bothTypes.verify(request(flatXml('xml', { ...payment, sign: other })), NOW)).toEqual(
        refused('bad_signature'),
      )
    for (const body of [xmlOf(payment), xmlOf({ ...payment, sign: '' })])
      expect(provider.verify(request(body), NOW)).toMatchObject(refused('malformed', 'sign'))
  })

  test('empty values and their names are not signed, and count as absent', () => {
    const body = notice().rawBody.toString()
    for (const field of ['<x></x>', '<x/>', '<x><![CDATA[]]></x>', '<sub_mch_id/>', '<sign_type/>'])
      expect(provider.verify(request(body.replace('</xml>', `${field}</xml>`)), NOW)).toEqual(verified)
    expect(verdictOf({ ...payment, fee_type: '' })).toEqual(verified)
  })

  test('values are as they lie there: zeros, spaces, entities and line ends', () => {
    for (const attach of ['007', ' 1 ', '&amp;', '&lt;a&gt;', '<b>x</b>', '"\'', 'a=1&b=2', '一\r\n二', ']]', '%26'])
      expect(verdictOf({ ...payment, attach })).toEqual(verified)
    expect(verdictOf({ ...payment, out_trade_no: '0012' })).toMatchObject({ messages: [{ outTradeNo: '0012' }] })
    expect(verdictOf({ ...payment, out_trade_no: 'A&amp;B' })).toMatchObject({ messages: [{ outTradeNo: 'A&amp;B' }] })
  })

  test('fields that nobody has heard of take part', () => {
    expect(verdictOf({ ...payment, promotion_detail: '{"a":[1]}', Zz_9: 'z' })).toEqual(verified)
    const body = notice().rawBody.toString()
    expect(provider.verify(request(body.replace('</xml>', '<zz>1</zz></xml>')), NOW)).toEqual(refused('bad_signature'))
  })

  describe('one signed text cannot be cut into other fields', () => {
    /** The same text under the same signature, cut at other places. */
    const recut = (sent: Record<string, string>, cut: Record<string, string>) => {
      const { sign = '' } = signFields(sent, KEY, 'HMAC-SHA256')
      expect(signFields(cut, KEY, 'HMAC-SHA256')['sign']).toBe(sign)
      return provider.verify(request(flatXml('xml', { ...cut, sign })), NOW)
    }
    const ambiguous = (field: string) => ({
      kind: 'verified',
      messages: [{ outTradeNo: null, messageType: `ambiguous ${field}`, messageId: payment.nonce_str, facts: [] }],
    })
    const sent = without(payment, 'device_info', 'coupon_count', 'coupon_type_0', 'coupon_id_0', 'coupon_fee_0')

    test('that lie in attach, so that one payment would be another order’s', () => {
      const rest = without(sent, 'appid', 'attach')
      const mine = { ...rest, out_trade_no: 'VICTIM', total_fee: '999900' }
      const hidden = Object.entries(mine)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => `&${name}=${value}`)
        .join('')
      const tail = Object.entries(rest)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => `&${name}=${value}`)
        .join('')
      const attack = { ...sent, attach: `x${hidden}&zz=` }
      expect(verdictOf(attack)).toEqual(ambiguous('attach'))
      expect(verdictOf({ ...attack, attach: 'x&out_trade_no=VICTIM&zz=' })).toEqual(verified)
      const forged = { appid: APPID, attach: 'x', ...mine, zz: tail }
      expect(recut(attack, forged)).toEqual(ambiguous('zz'))
    })

    test('that attach swallows, so that a payment would lose its currency', () => {
      const yen = { ...sent, fee_type: 'JPY' }
      const swallowed = `${sent.attach}&bank_type=CMC&cash_fee=123000&coupon_fee=456&fee_type=JPY`
      const cut = { ...without(yen, 'bank_type', 'cash_fee', 'coupon_fee', 'fee_type'), attach: swallowed }
      expect(recut(yen, cut)).toEqual(ambiguous('attach'))
    })

    test('and a genuine message that reads so was refused for good; now a person sees it, and no fact', () => {
      const odd = { ...payment, promotion: 'a&b=1' }
      expect(verdictOf(odd)).toEqual(ambiguous('promotion'))
      expect(verdictOf({ ...contract, promotion: 'a&b=1' })).toMatchObject({
        messages: [{ outTradeNo: null, messageType: 'ambiguous promotion', facts: [] }],
      })
      expect(provider.verify(notice(odd, OTHER_KEY), NOW)).toEqual(refused('bad_signature'))
      expect(verdictOf({ ...odd, mch_id: '1900000009' })).toEqual(refused('wrong_recipient', 'mch_id'))
      expect(verdictOf({ ...odd, appid: '' })).toEqual(refused('wrong_recipient', 'appid'))
    })
  })

  test('tries each key held, the ones past their end excepted', () => {
    const ending = { ...KEY, validToMs: NOW.getTime() }
    const after = new Date(NOW.getTime() + 1)
    const rotating = bound({ apiKeys: [OTHER_KEY, ending] })
    expect(rotating.verify(notice(), NOW)).toEqual(verified)
    expect(rotating.verify(notice(payment, OTHER_KEY), after)).toEqual(verified)
    expect(rotating.verify(notice(), after)).toEqual(refused('bad_signature'))
    expect(rotating.verify(refundNotice(), NOW)).toEqual(hinted)
    expect(rotating.verify(refundNotice(), after)).toEqual(refused('undecryptable'))
    expect(bound({ apiKeys: [ending] }).verify(notice(), after)).toEqual({
      kind: 'refused',
      rejection: { kind: 'unknown_key', keyId: 'wechatpay-v2' },
    })
  })

  test('a message to another merchant is refused by its signature, or where the key is shared by its name', () => {
    expect(bound({ mchid: '1900000002', apiKeys: [OTHER_KEY] }).verify(notice(), NOW)).toEqual(refused('bad_signature'))
    for (const [field, name] of [
      ['mch_id', '1900000009'],
      ['mch_id', ''],
      ['appid', 'wx0000000000000009'],
      ['appid', ''],
      ['sub_mch_id', '1900000009'],
    ] as const) {
      expect(verdictOf({ ...payment, [field]: name })).toEqual(refused('wrong_recipient', field))
      expect(provider.verify(refundNotice(refund, { ...refundEnvelope, [field]: name }), NOW)).toEqual(
        refused('wrong_recipient', field),
      )
    }
    expect(verdictOf({ ...payment, appid: 'wx0000000000000002' })).toEqual(verified)
    expect(verdictOf({ ...contract, appid: 'wx0000000000000009' })).toEqual(refused('wrong_recipient', 'appid'))
    expect(verdictOf({ ...contract, mch_id: '' })).toEqual(refused('wrong_recipient', 'mch_id'))
  })

  test('a partner’s messages name one of its merchants that is ours', () => {
    const partner = bound({ subMchids: new Set(['1900000007', '1900000008']) })
    const to = (sub_mch_id: string) => partner.verify(notice({ ...payment, sub_mch_id }), NOW)
    expect(to('1900000008')).toEqual(verified)
    expect(to('1900000009')).toEqual(refused('wrong_recipient', 'sub_mch_id'))
    expect(to('')).toEqual(refused('wrong_recipient', 'sub_mch_id'))
    const envelope = { ...refundEnvelope, sub_mch_id: '1900000007' }
    expect(partner.verify(refundNotice(refund, envelope), NOW)).toEqual(hinted)
    expect(partner.verify(refundNotice(), NOW)).toEqual(refused('wrong_recipient', 'sub_mch_id'))
  })

  test('a payment that came to nothing changes nothing', () => {
    const noEffect = { facts: [], instead: { kind: 'no_effect' } }
    for (const fields of [failed, { ...payment, return_code: 'FAIL' }, without(failed, 'transaction_id')])
      expect(verdictOf(fields)).toMatchObject({ messages: [{ ...noEffect, outTradeNo: 'T1-2024_05|*' }] })
    expect(verdictOf({ ...contract, out_trade_no: 'T1', appid: APPID, result_code: 'WAIT' })).toMatchObject(
      refused('malformed', 'result_code'),
    )
  })

  test('the signed answer of a query, posted as a notice, is a payment only where it says that it is', () => {
    const answer = { ...payment, return_msg: 'OK', trade_state_desc: 'x' }
    expect(verdictOf({ ...answer, trade_state: 'SUCCESS' })).toEqual(verified)
    expect(verdictOf({ ...answer, trade_state: '' })).toEqual(verified)
    for (const trade_state of ['REVOKED', 'PAYERROR', 'REFUND', 'NOTPAY', 'CLOSED', 'success', 'x'])
      for (const fields of [answer, { ...answer, result_code: 'FAIL' }, contract])
        expect(verdictOf({ ...fields, trade_state })).toMatchObject(refused('malformed', 'trade_state'))
    // Nor where it is put into the value before it.
    const { trade_state_desc, ...rest } = answer
    const signed = signFields({ ...rest, trade_state: 'REVOKED', trade_state_desc }, KEY, 'HMAC-SHA256')
    const cut = { ...without(signed, 'trade_state'), total_fee: `${answer.total_fee}&trade_state=REVOKED` }
    expect(provider.verify(request(flatXml('xml', cut)), NOW)).toMatchObject({ messages: [{ facts: [] }] })
  })

  test('reads the currency, and any time; refuses no payment for a time', () => {
    const factOf = (change: object) => {
      const verdict = verdictOf({ ...payment, ...change })
      return verdict.kind === 'verified' ? verdict.messages[0].facts[0] : verdict
    }
    expect(factOf({ fee_type: 'JPY' })).toEqual({ ...paid, currency: 'JPY' })
    expect(factOf({ time_end: '2024-05-20 13:29:35' })).toEqual(paid)
    for (const time_end of ['', 'yesterday', '20249920132935'])
      expect(factOf({ time_end })).toEqual({ ...paid, eventTimeMs: NOW.getTime() })
  })

  describe('a refund notification', () => {
    test('is a hint about its refund, never a fact, whatever it says', () => {
      expect(provider.verify(refundNotice(), NOW)).toEqual(hinted)
      for (const refund_status of ['CHANGE', 'REFUNDCLOSE', ''])
        expect(provider.verify(refundNotice({ ...refund, refund_status }), NOW)).toMatchObject({
          messages: [{ facts: [], instead: { kind: 'hint', ref: 'refund:R-2' } }],
        })
    })

    test('is held to be the same one whenever it comes: nothing that is not encrypted gets into it', () => {
      const again = refundNotice(refund, { ...refundEnvelope, nonce_str: 'another', return_msg: 'x', device_info: 'y' })
      expect(provider.verify(again, NOW)).toEqual(hinted)
    })

    test('proves no payment, though it be signed and speak of one', () => {
      const sealed = sealReqInfo(flatXml('root', refund), KEY)
      expect(verdictOf({ ...payment, req_info: sealed })).toEqual(hinted)
    })

    test('names its order where it can, and its refund always', () => {
      expect(provider.verify(refundNotice(without(refund, 'out_trade_no')), NOW)).toMatchObject({
        messages: [{ outTradeNo: null, instead: { kind: 'hint', ref: 'refund:R-2' } }],
      })
      expect(provider.verify(refundNotice({ ...refund, out_trade_no: 'T'.repeat(65) }), NOW)).toMatchObject({
        messages: [{ outTradeNo: null }],
      })
      for (const out_refund_no of ['', 'a\0b', 'x'.repeat(65), 'R<b>2', 'R 2', '退1'])
        expect(provider.verify(refundNotice({ ...refund, out_refund_no }), NOW)).toEqual(
          refused('malformed', 'req_info.out_refund_no'),
        )
      for (const refund_id of ['', '5x', '<a>', '5'.repeat(33)])
        expect(provider.verify(refundNotice({ ...refund, refund_id }), NOW)).toEqual(
          refused('malformed', 'req_info.refund_id'),
        )
      for (const out_refund_no of ['A-z_0|*@', 'x'.repeat(64)])
        expect(provider.verify(refundNotice({ ...refund, out_refund_no }), NOW)).toMatchObject({
          messages: [{ instead: { ref: `refund:${out_refund_no}` } }],
        })
    })

    test('that does not open is our trouble, and comes again: a key changed in the console', () => {
      expect(provider.verify(refundNotice(refund, refundEnvelope, OTHER_KEY), NOW)).toEqual(refused('undecryptable'))
      expect(bound({ apiKeys: [OTHER_KEY, KEY] }).verify(refundNotice(), NOW)).toEqual(hinted)
      for (const clear of ['', 'hello', '<xml><a>1</a></xml>', '<root><a><b/></a></root>', '\ufeff<root></root>'])
        expect(provider.verify(refundNotice(clear), NOW)).toEqual(refused('undecryptable'))
    })

    test('of no whole number of blocks, or of none, makes nothing throw', () => {
      const sealed = Buffer.from(sealReqInfo(flatXml('root', refund), KEY), 'base64')
      const lengths = [0, 1, 15, 16, 17, 31, 32, 33, sealed.length - 1, sealed.length - 16]
      const texts = ['', '=', '====', '订', 'A'.repeat(40_001), ...lengths.map((n) => sealed.toString('base64', 0, n))]
      for (const req_info of texts)
        expect(provider.verify(request(xmlRequest({ ...refundEnvelope, req_info }).rawBody), NOW)).toEqual(
          refused('undecryptable'),
        )
    })

    test('that failed carries nothing, and is refused', () => {
      for (const more of [{}, { req_info: sealReqInfo('<root></root>', KEY) }]) {
        const body = xmlRequest({ return_code: 'FAIL', return_msg: 'x', ...more }).rawBody
        expect(provider.verify(request(body), NOW).kind).toBe('refused')
      }
    })
  })

  test('taken apart, the text is shown without the key, and a refund notification has none', () => {
    const { inspect } = bound({ apiKeys: [OTHER_KEY, KEY] })
    const canonical = inspect.canonical(notice())?.toString() ?? ''
    expect(canonical).toMatch(/^appid=wx0000000000000001&attach=.*&transaction_id=4200002024052012345678901$/)
    expect(canonical).not.toMatch(/key=|device_info|sign=/)
    expect(inspect.keys).toEqual([
      { id: 'key 1', fingerprint: null, validToMs: Infinity },
      { id: 'key 2', fingerprint: null, validToMs: Infinity },
    ])
    // The policy is another question: a message signed by MD5 is signed.
    for (const signed of [notice(), notice(payment, KEY, 'MD5')]) {
      expect(inspect.verifies(signed, 'key 2')).toBe(true)
      expect(inspect.verifies(signed, 'key 1')).toBe(false)
    }
    expect(inspect.canonical(refundNotice())).toBeUndefined()
    expect(inspect.verifies(refundNotice(), 'key 2')).toBe(false)
    expect(JSON.stringify({ inspect, config, key: apiKey('s3cretS3cretS3cretS3cretS3cretS3') })).not.toMatch(/s3cret/i)
  })
})

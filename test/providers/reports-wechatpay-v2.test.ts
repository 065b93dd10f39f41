import { describe, expect, test } from 'vitest'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { factsOfRefundQuery } from '../../src/providers/wechatpay-v2/facts-of-query.ts'
import { parseFlatXml } from '../../src/providers/wechatpay-v2/parse-flat-xml.ts'
import { flatXml, signFields, xmlRequest } from '../../src/providers/wechatpay-v2/sign.ts'
import { wholeNumber } from '../../src/providers/wechatpay-v2/read-text.ts'
import * as v3 from './wechatpay-subject.ts'
import {
  bothTypes,
  config,
  hint,
  KEY,
  message,
  notice,
  NOW,
  payment,
  provider,
  refund,
  refundNotice,
  request,
  xmlOf,
} from './wechatpay-v2-subject.ts'

/** What users of such systems reported, one test per thread. */

const verified = { kind: 'verified', messages: [message] }
const verdictOf = (body: string | Buffer) => provider.verify(request(body), NOW)
const refusalOf = (body: string | Buffer) => {
  const verdict = verdictOf(body)
  return verdict.kind === 'refused' ? verdict.rejection : verdict
}

describe('signatures', () => {
  test('SIG-12 supersheep/wechat-pay#54: a message without appid, mch_id and sign is refused', () => {
    const bare = { return_code: 'SUCCESS', result_code: 'SUCCESS', out_trade_no: 'T1', total_fee: '1' }
    expect(refusalOf(xmlOf(bare))).toMatchObject({ kind: 'malformed', field: 'sign' })
    const signed = signFields({ ...bare, transaction_id: '4200' }, KEY, 'HMAC-SHA256')
    expect(refusalOf(xmlOf(signed))).toEqual({ kind: 'wrong_recipient', field: 'mch_id' })
    const withoutApp = signFields({ ...bare, mch_id: payment.mch_id }, KEY, 'HMAC-SHA256')
    expect(refusalOf(xmlOf(withoutApp))).toEqual({ kind: 'wrong_recipient', field: 'appid' })
  })

  test('SIG-13 WxJava#1890: a message without sign and return_code is refused; no absence skips a check', () => {
    expect(refusalOf('<xml><out_trade_no>T1</out_trade_no><total_fee>100</total_fee></xml>')).toMatchObject({
      kind: 'malformed',
      field: 'sign',
    })
    for (const field of Object.keys(payment)) {
      const rest = Object.fromEntries(Object.entries(payment).filter(([name]) => name !== field))
      const { sign = '' } = signFields(payment, KEY, 'HMAC-SHA256')
      const isSigned = payment[field as keyof typeof payment] !== ''
      expect(verdictOf(xmlOf({ ...rest, sign })).kind).toBe(isSigned ? 'refused' : 'verified')
    }
    for (const field of [
      'return_code',
      'result_code',
      'mch_id',
      'appid',
      'out_trade_no',
      'transaction_id',
      'total_fee',
    ])
      expect(provider.verify(notice({ ...payment, [field]: '' }), NOW).kind).toBe('refused')
  })

  test('SIG-22 WxJava#1585, #1633: without sign_type, 64 digits are HMAC-SHA256', () => {
    expect(Object.keys(payment)).not.toContain('sign_type')
    expect(provider.verify(notice(), NOW)).toEqual(verified)
  })

  test('SIG-23 helei112g/payment#211, #208, WxJava#1407: sign_type takes part where it is there', () => {
    const named = { ...payment, sign_type: 'MD5' }
    expect(bothTypes.verify(notice(named, KEY, 'MD5'), NOW)).toEqual(verified)
    const { sign = '' } = signFields(payment, KEY, 'MD5')
    expect(bothTypes.verify(request(xmlOf({ ...named, sign })), NOW)).toMatchObject({
      rejection: { kind: 'bad_signature' },
    })
  })

  test('SIG-25 IJPay#58: HMAC-SHA256 verifies as such, and MD5 is refused where the merchant is pinned to it', () => {
    expect(provider.verify(notice({ ...payment, sign_type: 'HMAC-SHA256' }), NOW)).toEqual(verified)
    expect(provider.verify(notice(payment, KEY, 'MD5'), NOW).kind).toBe('refused')
  })
})

test('ENC-11 WxJava#893: XML is read on the path of v2 and refused on that of v3, whatever its content type', () => {
  for (const type of ['text/xml', 'application/json', 'text/plain']) {
    const posted = { ...notice(), headers: { 'content-type': type } }
    expect(provider.verify(posted, NOW)).toEqual(verified)
    expect(v3.provider.verify(v3.signedBytes(posted.rawBody), NOW)).toMatchObject({ rejection: { kind: 'malformed' } })
  }
  expect(refusalOf('{"return_code":"SUCCESS"}')).toMatchObject({ kind: 'malformed', field: 'body' })
})

describe('refund notifications', () => {
  test('DEC-06 gopay: 17 bytes of req_info are refused, and the process lives', () => {
    const req_info = Buffer.alloc(17).toString('base64')
    const body = xmlRequest({ return_code: 'SUCCESS', appid: payment.appid, mch_id: payment.mch_id, req_info })
    expect(refusalOf(body.rawBody)).toEqual({ kind: 'undecryptable' })
  })

  test('DEC-07 wechatpy#266, DEC-11 WeChatDeveloper#56: the key is the MD5 of the API key in lower-case hexadecimal', () => {
    expect(provider.verify(refundNotice(), NOW)).toEqual({ kind: 'verified', messages: [hint] })
    expect(KEY.refundKey.export().toString()).toMatch(/^[0-9a-f]{32}$/)
    // Its root is another than the message's.
    expect(flatXml('root', refund)).toMatch(/^<root>/)
    expect(provider.verify(refundNotice(flatXml('xml', refund)), NOW)).toMatchObject({
      rejection: { kind: 'undecryptable' },
    })
  })

  test('DEC-09 WxJava#829: one that failed has no req_info, and is told apart without an exception', () => {
    expect(refusalOf('<xml><return_code>FAIL</return_code><return_msg>x</return_msg></xml>')).toEqual({
      kind: 'malformed',
      field: 'sign',
      detail: 'missing, as return_code is FAIL',
    })
    expect(
      refusalOf('<xml><return_code>FAIL</return_code><return_msg>x</return_msg><req_info></req_info></xml>'),
    ).toEqual({ kind: 'malformed', field: 'return_code' })
  })

  test('REF-08 WxJava#960: a refund’s time has spaces or not, is Beijing’s, and refuses nothing', () => {
    const timeOf = (time: string) => {
      const facts = factsOfRefundQuery(
        new Map(
          Object.entries({
            ...{ return_code: 'SUCCESS', result_code: 'SUCCESS', appid: payment.appid, mch_id: payment.mch_id },
            ...{ transaction_id: '4200', refund_count: '1', refund_id_0: '5000', out_refund_no_0: 'R-2' },
            ...{ refund_fee_0: '1', refund_status_0: 'SUCCESS', refund_success_time_0: time },
          }),
        ),
        config,
        NOW,
      )
      return typeof facts === 'string' ? facts : facts[0]?.eventTimeMs
    }
    for (const time of ['2018-12-29 16:30:05', '20181229163005'])
      expect(timeOf(time)).toBe(Date.parse('2018-12-29T16:30:05+08:00'))
    expect(timeOf('soon')).toBe(NOW.getTime())
    expect(provider.verify(refundNotice({ ...refund, success_time: 'soon' }), NOW)).toMatchObject({ messages: [hint] })
  })
})

describe('XML', () => {
  const XXE = '<!DOCTYPE x [<!ENTITY e SYSTEM "http://127.0.0.1:9/xxe">]><xml><out_trade_no>&e;</out_trade_no></xml>'

  test('XML-01 weixin-popular#158: a document type is refused, and nothing is fetched for it', () => {
    expect(refusalOf(XXE)).toEqual({ kind: 'malformed', field: 'body', detail: 'a document type' })
    const signed = notice().rawBody.toString()
    expect(verdictOf(`<!DOCTYPE x>${signed}`).kind).toBe('refused')
    expect(provider.verify(refundNotice(`<!DOCTYPE x>${flatXml('root', refund)}`), NOW).kind).toBe('refused')
  })

  test('XML-03 WxJava#961, #660: in every spelling and place', () => {
    for (const spelling of [
      XXE.replace('DOCTYPE', 'doctype'),
      XXE.replace('DOCTYPE', 'DocType'),
      `\ufeff${XXE}`,
      `<!-- c -->${XXE}`,
      `<?xml version="1.0"?>${XXE}`,
      `\n\t ${XXE}`,
      XXE.replace('<xml>', '<xml><!DOCTYPE y>'),
    ])
      expect(refusalOf(spelling)).toMatchObject({ kind: 'malformed', field: 'body' })
  })

  test('XML-04 easywechat#1286, yansongda/pay#156: in UTF-16 it is refused for that alone', () => {
    const utf16 = Buffer.from(`\ufeff${XXE}`, 'utf16le')
    expect(refusalOf(utf16)).toEqual({ kind: 'malformed', field: 'body', detail: 'not UTF-8' })
    expect(refusalOf(Buffer.from(utf16).swap16())).toMatchObject({ kind: 'malformed', field: 'body' })
    expect(refusalOf(Buffer.from(notice().rawBody.toString(), 'utf16le'))).toMatchObject({ field: 'body' })
  })

  test('XML-06 smartwalle/wxpay#3: an entity that the document declares itself is refused too', () => {
    const internal = '<!DOCTYPE x [<!ENTITY a "1">]><xml><total_fee>&a;</total_fee></xml>'
    expect(refusalOf(internal)).toMatchObject({ detail: 'a document type' })
    expect(refusalOf('<xml><total_fee>&a;</total_fee></xml>')).toMatchObject({
      detail: 'an entity, or a bracket outside CDATA',
    })
  })
})

describe('amounts', () => {
  test('AMT-01 weixin-java-tools#248, AMT-03 cn-pay#2, AMT-05 better-wechatpay#2: fen are whole numbers, never rounded', () => {
    for (const text of ['19.90', '9.8', '1.005', '980.0000000000001', '1e3', '0x1', '', ' 1', '1 ', '-0', '01'])
      expect(wholeNumber(text)).toBeUndefined()
    expect(wholeNumber('10000000000')).toBe(10_000_000_000)
    expect(wholeNumber('0')).toBe(0)
  })

  test('AMT-08 mall#998, AMT-10 yansongda/pay#685: the amount goes on as it was paid, and the processor compares it', () => {
    for (const [total_fee, amountMinor] of [
      ['1', 1],
      ['123456', 123_456],
      ['10000000000', 10_000_000_000],
    ] as const)
      expect(provider.verify(notice({ ...payment, total_fee }), NOW)).toMatchObject({
        messages: [{ facts: [{ amountMinor }] }],
      })
    for (const total_fee of ['1,234.56', '1234.56'])
      expect(provider.verify(notice({ ...payment, total_fee }), NOW)).toMatchObject({
        rejection: { kind: 'malformed', field: 'total_fee' },
      })
    // What was paid after coupons, or settled, is not the order's amount.
    const coupon = { ...payment, cash_fee: '1', settlement_total_fee: '2' }
    expect(provider.verify(notice(coupon), NOW)).toEqual(verified)
  })
})

describe('answers', () => {
  const { success, refusal } = PROVIDERS.get('wechatpay-v2')?.answers ?? {}

  test('RSP-05 node-tenpay#97: success is exactly the documented XML, in CDATA and without a prolog', () => {
    expect(success).toEqual({
      status: 200,
      contentType: 'text/xml',
      body: '<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>',
    })
  })

  test('RSP-08 forum: there is always a body, and what failed says so', () => {
    expect(refusal?.({ kind: 'broker_unavailable' })).toEqual({
      status: 503,
      contentType: 'text/xml',
      body: '<xml><return_code><![CDATA[FAIL]]></return_code><return_msg><![CDATA[FAIL]]></return_msg></xml>',
    })
    for (const { body } of [success, refusal?.({ kind: 'bad_signature' })].flatMap((form) => form ?? []))
      expect(parseFlatXml(Buffer.from(body), 'xml')).toBeInstanceOf(Map)
  })
})

import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Aes, Hash, Transformer } from 'wechatpay-axios-plugin'
import { sealReqInfo, flatXml, signFields, signPayment } from '../../../src/providers/wechatpay-v2/sign.ts'
import { SIGN_TYPES } from '../../../src/providers/wechatpay-v2/signature.ts'
import {
  bothTypes,
  failed,
  hint,
  KEY,
  MCHID,
  message,
  NOW,
  payment,
  provider,
  refund,
  refundEnvelope,
  request,
  without,
  xmlOf,
} from '../wechatpay-v2-subject.ts'

const SECRET = KEY.key.export().toString()
type Step = (this: object, data: unknown) => unknown
/** What axios calls with a request's settings as `this`. */
const sdk = new Transformer(MCHID, SECRET) as unknown as { request: [Step, Step]; response: [Step, Step] }
const SETTINGS = { method: 'post', url: '/notify' }
const read = (body: Buffer | string) => sdk.response[0].call(SETTINGS, body.toString())
const verify = (body: Buffer | string) => sdk.response[1].call(SETTINGS, read(body))
const write = (fields: object) => String(sdk.request[1].call(SETTINGS, sdk.request[0].call(SETTINGS, fields)))
const verified = { kind: 'verified', messages: [message] }

describe('wechatpay-axios-plugin', () => {
  test.for(SIGN_TYPES)('takes what we sign with %s', (type) => {
    for (const fields of [payment, { ...payment, sign_type: type }, { ...payment, attach: 'a=1&b=2 <b>"]]' }]) {
      const { rawBody } = signPayment(fields, KEY, type)
      expect(verify(rawBody)).toMatchObject(without(fields, 'device_info'))
      const altered = rawBody.toString().replace('123456', '123457')
      expect(verify(altered)).toBeInstanceOf(Error)
    }
    expect(verify(signPayment(failed, KEY, type).rawBody)).toBeInstanceOf(Error)
  })

  test.for(SIGN_TYPES)('signs with %s what we take', (type) => {
    const fields = { ...payment, sign_type: type }
    expect(bothTypes.verify(request(write(fields)), NOW)).toEqual(verified)
    expect(Hash.sign(type, payment, SECRET)).toBe(signFields(payment, KEY, type)['sign'])
    // It leaves an empty element where the value is empty, and CDATA out where nothing needs it.
    expect(write(fields)).toContain('<device_info/>')
    const odd = { ...fields, attach: '<x> & "y"', device_info: '订' }
    expect(bothTypes.verify(request(write(odd)), NOW)).toEqual(verified)
  })

  test('opens what we encrypt, and we what it encrypts', () => {
    const key = hash('md5', SECRET, 'hex')
    const clear = flatXml('root', refund)
    expect(Aes.AesEcb.decrypt(sealReqInfo(clear, KEY), key)).toBe(clear)
    const sealed = Aes.AesEcb.encrypt(clear.padEnd(16 * Math.ceil(clear.length / 16) + 1), key)
    expect(provider.verify(request(xmlOf({ ...refundEnvelope, req_info: sealed })), NOW)).toEqual({
      kind: 'verified',
      messages: [hint],
    })
  })

  describe('is wrong where', () => {
    test('a text fills its last block: it leaves out the padding, which PKCS #7 always has', () => {
      const key = hash('md5', SECRET, 'hex')
      const clear = flatXml('root', { ...refund, refund_recv_accout: '' })
      const whole = clear.padEnd(16 * Math.ceil(clear.length / 16))
      const sealed = Aes.AesEcb.encrypt(whole, key)
      expect(Buffer.from(sealed, 'base64')).toHaveLength(whole.length)
      expect(Buffer.from(sealReqInfo(whole, KEY), 'base64')).toHaveLength(whole.length + 16)
      expect(provider.verify(request(xmlOf({ ...refundEnvelope, req_info: sealed })), NOW)).toMatchObject({
        rejection: { kind: 'undecryptable' },
      })
      expect(Aes.AesEcb.decrypt(sealReqInfo(whole, KEY), key)).toBe(whole)
    })

    test('a value outside CDATA has a space at its end: it trims it, and does not verify what it signed', () => {
      const body = write({ ...payment, sign_type: 'HMAC-SHA256', attach: 'a ' })
      expect(body).toContain('<attach>a </attach>')
      expect(provider.verify(request(body), NOW)).toEqual(verified)
      expect(verify(body)).toBeInstanceOf(Error)
    })

    test('a document declares entities: it puts them in', () => {
      const { sign = '' } = signFields({ ...payment, total_fee: '1' }, KEY, 'HMAC-SHA256')
      const xml = xmlOf({ ...payment, total_fee: 'ENTITY', sign })
        .toString()
        .replace('<![CDATA[ENTITY]]>', '&a;')
      const body = `<!DOCTYPE x [<!ENTITY a "1">]>${xml}`
      expect(read(body)).toMatchObject({ total_fee: '1' })
      expect(provider.verify(request(body), NOW)).toMatchObject({
        rejection: { kind: 'malformed', detail: 'a document type' },
      })
    })

    test('the sender chooses the algorithm: it takes MD5 from whoever sends 32 digits', () => {
      const { rawBody } = signPayment(payment, KEY, 'MD5')
      expect(verify(rawBody)).toMatchObject({ out_trade_no: payment.out_trade_no })
      expect(provider.verify(request(rawBody), NOW)).toMatchObject({ rejection: { field: 'sign_type' } })
    })
  })
})

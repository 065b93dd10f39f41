import { createDecipheriv, type KeyObject } from 'node:crypto'
import { isOrderNumber, traceable } from '../limits.ts'
import type { Verdict } from '../provider.ts'
import { malformed, refused, verified } from '../refuse.ts'
import type { WechatpayV2Config } from './config.ts'
import { parseFlatXml, type XmlFields } from './parse-flat-xml.ts'
import { textOf } from './read-text.ts'
import { strangerField } from './recipient.ts'

/**
 * A refund notification. Nothing signs it, and AES in ECB mode hides without proving anything: blocks of one message can
 * be put into another. So it is no fact, only a reason to ask WeChat Pay about the refund that it names.
 */
export function readRefund(fields: XmlFields, config: WechatpayV2Config, now: Date): Verdict {
  if (fields.get('return_code') !== 'SUCCESS') return malformed('return_code')
  const stranger = strangerField(fields, config, 'app')
  if (stranger !== undefined) return refused({ kind: 'wrong_recipient', field: stranger })
  const sealed = Buffer.from(textOf(fields, 'req_info') ?? '', 'base64')
  const valid = config.apiKeys.filter(({ validToMs }) => validToMs >= now.getTime())
  for (const { refundKey } of valid) {
    const clear = decrypt(sealed, refundKey)
    const refund = clear && parseFlatXml(clear, 'root')
    // A wrong key makes something of one padding in 256; then it is no document.
    if (refund !== undefined && typeof refund !== 'string') return hintOf(refund)
  }
  return refused({ kind: 'undecryptable' })
}

/**
 * As documented for merchants' refund numbers. Nothing signs this text: with blocks of one captured notice in it, most of
 * which hold a bracket, it named another refund each time, and each was asked about.
 */
const OUT_REFUND_NO = /^[A-Za-z0-9_\-|*@]{1,64}$/

function hintOf(refund: XmlFields): Verdict {
  const outTradeNo = textOf(refund, 'out_trade_no')
  const outRefundNo = textOf(refund, 'out_refund_no') ?? ''
  if (!OUT_REFUND_NO.test(outRefundNo)) return malformed('req_info.out_refund_no')
  if (!/^\d{1,32}$/.test(textOf(refund, 'refund_id') ?? '')) return malformed('req_info.refund_id')
  return verified({
    outTradeNo: isOrderNumber(outTradeNo) ? outTradeNo : null,
    messageType: traceable(`refund ${textOf(refund, 'refund_status') ?? ''}`.trim()),
    messageId: traceable(textOf(refund, 'refund_id')),
    facts: [],
    instead: { kind: 'hint', ref: `refund:${outRefundNo}` },
  })
}

/** AES-256-ECB with PKCS #7. Undefined for what is no whole number of blocks, or has another padding. */
export function decrypt(sealed: Buffer, key: KeyObject): Buffer | undefined {
  const decipher = createDecipheriv('aes-256-ecb', key, null)
  try {
    return Buffer.concat([decipher.update(sealed), decipher.final()])
  } catch {
    return undefined
  }
}

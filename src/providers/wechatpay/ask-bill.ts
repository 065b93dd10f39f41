import { isUtf8 } from 'node:buffer'
import { isFields } from '../fields.ts'
import type { AskBill, BillPlace } from '../query.ts'
import { codeOf, exchange, ofRejection, rateLimited, refuse, systemError, type QueryMeans } from '../query-exchange.ts'
import { safeUrl } from '../query-section.ts'
import { parseStrictJson } from '../strict-json.ts'
import { authorize } from './authorize.ts'
import { wantedSigner, type WechatpayQueryConfig } from './query.ts'
import { verifySignature } from './verify.ts'

const SHA1 = /^[0-9a-f]{40}$/i

/**
 * Asks WeChat Pay where the trade bill (`ALL`) of a day is. The answer is signed; the file is not, so that its digest in
 * the answer is what proves it. A partner's has the rows of all its merchants.
 * @see https://pay.weixin.qq.com/docs/merchant/apis/in-app-payment/get-trade-bill.html
 */
export const createWechatpayAskBill =
  ({ recipient, certificate, platformKeys }: WechatpayQueryConfig, means: QueryMeans): AskBill =>
  async (day, signal): Promise<BillPlace> => {
    const at = means.clock.now()
    const caller = { ...certificate, mchid: recipient.mchid }
    const authorized = (path: string) => ({ authorization: authorize({ method: 'GET', path }, caller, at) })
    const path = `/v3/bill/tradebill?bill_date=${day}&bill_type=ALL&tar_type=GZIP`
    const headers = { accept: 'application/json', ...authorized(path), ...wantedSigner(platformKeys, at) }
    const arrived = await exchange(means, { method: 'GET', path, headers }, signal)
    if (arrived.kind !== 'arrived') return arrived
    const { status, rawBody } = arrived
    const body = isUtf8(rawBody) ? parseStrictJson(rawBody.toString())?.value : undefined
    const code = isFields(body) ? body['code'] : undefined
    if (status !== 200) {
      if (code === 'FREQUENCY_LIMITED' || code === 'RATELIMIT_EXCEEDED') return rateLimited(means.limit)
      if (code === 'SYSTEM_ERROR') return systemError()
      return refuse(status === 401 || status === 403 ? 'credentials' : 'provider_error', codeOf(code))
    }
    const rejected = verifySignature(arrived, platformKeys, means.clock.now())
    if (rejected !== undefined) return ofRejection(rejected.rejection)
    if (!isFields(body)) return refuse('malformed', 'body')
    const { hash_type: kind, hash_value: sha1, download_url: address } = body
    if (kind !== 'SHA1') return refuse('malformed', 'hash_type')
    if (typeof sha1 !== 'string' || !SHA1.test(sha1)) return refuse('malformed', 'hash_value')
    const url = safeUrl(address)
    if (url === undefined) return refuse('malformed', 'download_url')
    return { kind: 'ready', url, headers: authorized(url.pathname + url.search), sha1: sha1.toLowerCase() }
  }

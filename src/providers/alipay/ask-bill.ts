import type { AskBill, BillPlace } from '../query.ts'
import { exchange, ofRejection, refuse, type QueryMeans } from '../query-exchange.ts'
import { safeUrl } from '../query-section.ts'
import { FORM, ofFailure, type AlipayQueryConfig } from './query.ts'
import { signRequest } from './sign-request.ts'
import { openAnswer, verifyAnswer } from './signed-answer.ts'

const METHOD = 'alipay.data.dataservice.bill.downloadurl.query'

/**
 * Asks Alipay where the trade bill of a day is: that of the account which the app belongs to. The address is signed and
 * holds for half a minute; of the file there is no digest, so that TLS is what proves it.
 */
export const createAlipayAskBill =
  ({ caller, keys }: AlipayQueryConfig, means: QueryMeans): AskBill =>
  async (day, signal): Promise<BillPlace> => {
    const { path, body } = signRequest(METHOD, { bill_type: 'trade', bill_date: day }, caller, means.clock.now())
    const arrived = await exchange(means, { method: 'POST', path, headers: FORM, body }, signal)
    if (arrived.kind !== 'arrived') return arrived
    const opened = openAnswer(arrived.rawBody, METHOD)
    if (opened === undefined) return refuse('malformed', 'body')
    const { answer } = opened
    if (answer['code'] !== '10000') return ofFailure(answer, means.limit)
    const rejected = verifyAnswer(opened, keys, means.clock.now())
    if (rejected !== undefined) return ofRejection(rejected.rejection)
    const url = overTls(answer['bill_download_url'])
    return url === undefined
      ? refuse('malformed', 'bill_download_url')
      : { kind: 'ready', url, headers: {}, sha1: null }
  }

/** Alipay's samples have an address without TLS, which would leave the bill to whoever is on the way. */
const overTls = (address: unknown): URL | undefined =>
  safeUrl(address) ?? (typeof address === 'string' ? safeUrl(address.replace(/^http:/, 'https:')) : undefined)

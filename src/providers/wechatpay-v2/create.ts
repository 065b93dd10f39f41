import type { Provider } from '../provider.ts'
import { malformed } from '../refuse.ts'
import type { WechatpayV2Config } from './config.ts'
import { inspectWechatpayV2 } from './inspect.ts'
import { normalize } from './normalize.ts'
import { parseFlatXml } from './parse-flat-xml.ts'
import { readRefund } from './read-refund.ts'
import { verifySignature } from './verify.ts'

/** WeChat Pay v2 notifications of one merchant: read the fields, verify them, then say what they mean. */
export const createWechatpayV2 = (config: WechatpayV2Config): Provider => ({
  // The signature and all that it covers are in the body.
  signedHeaders: [],
  inspect: inspectWechatpayV2(config.apiKeys),
  verify({ rawBody }, now) {
    const fields = parseFlatXml(rawBody, 'xml')
    if (typeof fields === 'string') return malformed('body', fields)
    if (fields.has('req_info')) return readRefund(fields, config, now)
    return verifySignature(fields, config, now) ?? normalize(fields, config, now)
  },
})

import type { Provider } from '../provider.ts'
import { malformed } from '../refuse.ts'
import type { AlipayConfig } from './config.ts'
import { inspectAlipay } from './inspect.ts'
import { normalize } from './normalize.ts'
import { parseForm } from './parse-form.ts'
import { readReturn } from './read-return.ts'
import { verifySignature } from './verify.ts'

/** Alipay's notices about one merchant's trades: split the form, verify its fields, then read them. */
export const createAlipay = (config: AlipayConfig): Provider => ({
  // The signature and all that it covers are in the body.
  signedHeaders: [],
  inspect: inspectAlipay(config.keys),
  verify({ rawBody }, now) {
    const form = parseForm(rawBody)
    if (form === undefined) return malformed('body')
    return verifySignature(form, config.keys, now) ?? normalize(form, config, now)
  },
  verifyReturn(rawQuery, now) {
    const form = parseForm(Buffer.from(rawQuery))
    if (form === undefined) return malformed('query')
    return verifySignature(form, config.keys, now) ?? readReturn(form, config)
  },
})

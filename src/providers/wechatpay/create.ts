import type { Provider } from '../provider.ts'
import type { WechatpayConfig } from './config.ts'
import { inspectWechatpay } from './inspect.ts'
import { normalize } from './normalize.ts'
import { openResource } from './open-resource.ts'
import { SIGNED_HEADERS, verifySignature } from './verify.ts'

/** WeChat Pay v3 notifications of one merchant: verify the bytes, then open them, then read them. */
export const createWechatpay = (config: WechatpayConfig): Provider => ({
  signedHeaders: SIGNED_HEADERS,
  inspect: inspectWechatpay(config.platformKeys),
  verify(request, now) {
    const refusal = verifySignature(request, config.platformKeys, now)
    if (refusal !== undefined) return refusal
    const opened = openResource(request.rawBody, config.apiV3Keys, now)
    return opened.kind === 'refused' ? opened : normalize(opened.notification, config, now)
  },
})

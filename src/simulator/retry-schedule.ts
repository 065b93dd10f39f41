import type { PaymentProvider } from './stories.ts'

const MINUTE = 60
const HOUR = 3_600

/** 15 times within 24 h 4 m; v2 says the same. */
const WECHATPAY = [
  ...[15, 15, 30, 3 * MINUTE, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE, 30 * MINUTE, 30 * MINUTE, HOUR],
  ...[3 * HOUR, 3 * HOUR, 3 * HOUR, 6 * HOUR, 6 * HOUR],
]
/** The specification's example: at once, then after these delays. */
const STANDARD_WEBHOOKS = [5, 5 * MINUTE, 30 * MINUTE, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR)]

/**
 * Seconds between deliveries that were not answered with success; after the last one the sender gives up.
 *
 * | sender | schedule | source |
 * |---|---|---|
 * | WeChat Pay v3, v2 | 15s/15s/30s/3m/10m/20m/30m/30m/30m/60m/3h/3h/3h/6h/6h | https://pay.weixin.qq.com/wiki/doc/apiv3/apis/chapter3_2_5.shtml |
 * | Alipay | 8 deliveries within 25 h; the first gap is 2 m in one document, 4 m in another | https://docs.antom.com/ac/web_cn/async |
 * | Stripe | "up to three days with an exponential back off": doubled from a minute, as no figures are published | https://docs.stripe.com/webhooks#retries |
 * | Standard Webhooks, workers | the example of the specification | https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md |
 */
export const RETRY_AFTER_SEC: Readonly<Record<PaymentProvider | 'worker', readonly number[]>> = {
  wechatpay: WECHATPAY,
  'wechatpay-v2': WECHATPAY,
  alipay: [2 * MINUTE, 10 * MINUTE, 10 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 15 * HOUR],
  stripe: Array.from({ length: 12 }, (_, n) => MINUTE * 2 ** n),
  'standard-webhooks': STANDARD_WEBHOOKS,
  worker: STANDARD_WEBHOOKS,
}

import type { PaymentProvider } from './plan.ts'

const MINUTE = 60
const HOUR = 3_600

/**
 * Seconds between deliveries that were not answered with success.
 * WeChat Pay: 15 times within 24 h 4 m; Alipay: 8 deliveries within 25 h (its first gap is 2 m in one document, 4 m in
 * another). After the last one the provider gives up.
 * @see https://pay.weixin.qq.com/wiki/doc/apiv3/apis/chapter3_2_5.shtml
 */
export const RETRY_AFTER_SEC: Readonly<Record<PaymentProvider, readonly number[]>> = {
  wechatpay: [
    ...[15, 15, 30, 3 * MINUTE, 10 * MINUTE, 20 * MINUTE, 30 * MINUTE, 30 * MINUTE, 30 * MINUTE, HOUR],
    ...[3 * HOUR, 3 * HOUR, 3 * HOUR, 6 * HOUR, 6 * HOUR],
  ],
  alipay: [2 * MINUTE, 10 * MINUTE, 10 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 15 * HOUR],
}

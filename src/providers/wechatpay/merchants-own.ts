import type { X509Certificate } from 'node:crypto'

/** The subject's common name, which is a merchant number. */
const MERCHANT_NUMBER = /^CN=\d{8,10}$/m

/**
 * Whether a certificate is the one that a merchant signs its requests with, and not one of WeChat Pay's: its subject
 * names the merchant's number, where the other says "Tenpay.com sign". Taking the one for the other is the commonest
 * mistake with certificates.
 * @see https://pay.weixin.qq.com/doc/v3/partner/4012073263, WxJava#2879, wechatpay-apache-httpclient#140
 */
export const isMerchantsOwn = ({ subject }: X509Certificate): boolean => MERCHANT_NUMBER.test(subject)

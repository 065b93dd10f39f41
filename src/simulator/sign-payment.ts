import { PROVIDERS } from '../providers/registry.ts'
import type { SenderKeys } from './keys.ts'
import type { Defect, PaymentProvider } from './plan.ts'
import { signAlipay } from './sign-alipay.ts'
import { signWechatpay } from './sign-wechatpay.ts'

/** A payment as its provider knows it. */
export interface Payment {
  readonly provider: PaymentProvider
  readonly outTradeNo: string
  readonly transactionId: string
  readonly messageId: string
  readonly amountMinor: number
  /** The moment of the payment; the same at every delivery. */
  readonly paidAt: Date
}

/** A request that only has to be posted. */
export interface SignedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawBody: Buffer
}

/** A provider's delivery of a payment's callback at a moment, with the defect that the plan wants in it. */
export function signPayment(payment: Payment, keys: SenderKeys, defect: Defect, at: Date): SignedRequest {
  const signed =
    payment.provider === 'alipay' ? signAlipay(payment, keys, defect) : signWechatpay(payment, keys, defect, at)
  return { path: callbackPath(payment.provider, keys.merchant), ...signed }
}

export const callbackPath = (provider: string, merchant: string) => `/callbacks/${provider}/${merchant}`

/** Whether an answer is the provider's success, to the byte. */
export function isSuccess(provider: string, status: number, contentType: string, body: string): boolean {
  const form = PROVIDERS.get(provider)?.answers.success
  return status === form?.status && body === form.body && contentType.split(';')[0] === form.contentType
}

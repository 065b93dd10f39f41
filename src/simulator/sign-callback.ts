import { callbackPath, type Delivered, type Sign, type SignedRequest } from './delivered.ts'
import { hostile } from './hostile.ts'
import type { SenderKeys } from './keys.ts'
import { signAlipay } from './sign-alipay.ts'
import { signStandardWebhooks } from './sign-standard-webhooks.ts'
import { signStripe } from './sign-stripe.ts'
import { signWechatpay } from './sign-wechatpay.ts'
import { signWechatpayV2 } from './sign-wechatpay-v2.ts'
import type { PaymentProvider } from './stories.ts'

const SIGN: Readonly<Record<PaymentProvider, Sign>> = {
  wechatpay: signWechatpay,
  'wechatpay-v2': signWechatpayV2,
  alipay: signAlipay,
  stripe: signStripe,
  'standard-webhooks': signStandardWebhooks,
}

/** A callback as its provider signs it at that moment, with the defect that the plan wants in it. */
export function signCallback(delivered: Delivered, keys: SenderKeys): SignedRequest {
  const { provider } = delivered.callback.transaction
  const signed = { path: callbackPath(provider, keys.merchant), ...SIGN[provider](delivered, keys) }
  return delivered.defect === 'hostile' ? hostile(signed, delivered.callback.messageId) : signed
}

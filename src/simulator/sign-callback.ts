import { PROVIDERS } from '../providers/registry.ts'
import type { SenderKeys } from './keys.ts'
import type { Defect, PlannedCallback } from './planned.ts'
import { signAlipay } from './sign-alipay.ts'
import { signStandardWebhooks } from './sign-standard-webhooks.ts'
import { signStripe } from './sign-stripe.ts'
import { signWechatpay } from './sign-wechatpay.ts'
import { signWechatpayV2 } from './sign-wechatpay-v2.ts'
import type { PaymentProvider } from './stories.ts'

/** A request that only has to be posted. */
export interface SignedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly rawBody: Buffer
}

/** One delivery of a callback: what it tells, and what is wrong with it. */
export interface Delivered {
  readonly callback: PlannedCallback
  readonly defect: Defect
  /** The moment of sending. */
  readonly at: Date
  /** A time of the plan as a date, in whole seconds. */
  readonly dateOf: (atMs: number) => Date
}
export type Sign = (delivered: Delivered, keys: SenderKeys) => Omit<SignedRequest, 'path'>

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
  return { path: callbackPath(provider, keys.merchant), ...SIGN[provider](delivered, keys) }
}

export const callbackPath = (provider: string, merchant: string) => `/callbacks/${provider}/${merchant}`

/** Ten minutes old: twice what is taken. */
const STALE_MS = 600_000

/** The time that is signed. */
export const signedAt = ({ defect, at }: Delivered) =>
  defect === 'stale_timestamp' ? new Date(at.getTime() - STALE_MS) : at

/** The number of somebody else, in the same form. */
export const strangerTo = (number: string) => `${number.slice(0, -1)}${(Number(number.at(-1)) + 5) % 10}`

/** Whether an answer is the sender's success, to the byte. */
export function isSuccess(provider: string, status: number, contentType: string, body: string): boolean {
  const form = PROVIDERS.get(provider)?.answers.success
  return status === form?.status && body === form.body && contentType.split(';')[0] === form.contentType
}

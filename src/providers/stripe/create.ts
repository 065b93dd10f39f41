import type { Provider } from '../provider.ts'
import type { StripeConfig } from './config.ts'
import { inspectStripe } from './inspect.ts'
import { normalize } from './normalize.ts'
import { SIGNED_HEADERS, verifySignature } from './verify.ts'

/** Stripe's events about one merchant's payments. */
export const createStripe = (config: StripeConfig): Provider => ({
  signedHeaders: SIGNED_HEADERS,
  inspect: inspectStripe(config.secrets),
  verify: (request, now) => verifySignature(request, config.secrets, now) ?? normalize(request.rawBody, config),
})

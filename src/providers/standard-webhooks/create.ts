import type { Provider } from '../provider.ts'
import type { StandardWebhooksConfig } from './config.ts'
import { inspectWebhook } from './inspect.ts'
import { normalize } from './normalize.ts'
import { SIGNED_HEADERS, verifySignature } from './verify.ts'

/** Messages of a sender that signs by Standard Webhooks, read by a mapping. */
export const createStandardWebhooks = (config: StandardWebhooksConfig): Provider => ({
  signedHeaders: SIGNED_HEADERS,
  inspect: inspectWebhook(config.keys, 'keyFiles'),
  verify: (request, now) => verifySignature(request, config.keys, now) ?? normalize(request, config),
})

import type { Provider } from '../provider.ts'
import { inspectWebhook } from '../standard-webhooks/inspect.ts'
import { SIGNED_HEADERS, verifySignature } from '../standard-webhooks/verify.ts'
import type { WorkerConfig } from './config.ts'
import { normalize } from './normalize.ts'

/** Reports of one merchant's warehouse workers, signed as Standard Webhooks. */
export const createWorker = ({ secrets }: WorkerConfig): Provider => ({
  signedHeaders: SIGNED_HEADERS,
  inspect: inspectWebhook(secrets, 'secretFiles'),
  verify: (request, now) =>
    verifySignature(request, secrets, now) ?? normalize(request.rawBody, request.headers['webhook-id'] ?? ''),
})

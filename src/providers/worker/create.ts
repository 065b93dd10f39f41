import type { Provider } from '../provider.ts'
import type { WorkerConfig } from './config.ts'
import { inspectWorker } from './inspect.ts'
import { normalize } from './normalize.ts'
import { SIGNED_HEADERS, verifySignature } from './verify.ts'

/** Signed reports of one merchant's warehouse workers. */
export const createWorker = ({ secrets }: WorkerConfig): Provider => ({
  signedHeaders: SIGNED_HEADERS,
  inspect: inspectWorker(secrets),
  verify: (request, now) =>
    verifySignature(request, secrets, now) ?? normalize(request.rawBody, request.headers['webhook-id'] ?? ''),
})

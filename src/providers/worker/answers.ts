import { standardWebhooksAnswers } from '../standard-webhooks/answers.ts'

/** A worker is answered as any sender of Standard Webhooks. */
export const workerAnswers = standardWebhooksAnswers

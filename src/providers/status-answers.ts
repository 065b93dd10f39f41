import type { AnswerForms } from './provider.ts'
import { REFUSAL_STATUS } from './refusal-status.ts'

/** For senders that read the status alone: 2xx is delivered, anything else is sent again. @param word for people */
const byStatus = (word: 'accepted' | 'received'): AnswerForms => ({
  success: { status: 200, contentType: 'application/json', body: `{"${word}":true}` },
  refusal: ({ kind }) => ({
    status: REFUSAL_STATUS[kind],
    contentType: 'application/json',
    body: `{"${word}":false}`,
  }),
})

/** Of Standard Webhooks, and of workers, who send by it. */
export const standardWebhooksAnswers = byStatus('accepted')
/** Stripe sends again for three days. */
export const stripeAnswers = byStatus('received')

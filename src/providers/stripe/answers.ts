import type { AnswerForms } from '../provider.ts'
import { REFUSAL_STATUS } from '../refusal-status.ts'

/** Stripe reads the status alone: 2xx is delivered, anything else is sent again, for three days. */
export const stripeAnswers: AnswerForms = {
  success: { status: 200, contentType: 'application/json', body: '{"received":true}' },
  refusal: ({ kind }) => ({
    status: REFUSAL_STATUS[kind],
    contentType: 'application/json',
    body: '{"received":false}',
  }),
}

import type { AnswerForms } from '../provider.ts'
import { REFUSAL_STATUS } from '../refusal-status.ts'

/** Standard Webhooks reads the status alone: 2xx is delivered, anything else is sent again. */
export const standardWebhooksAnswers: AnswerForms = {
  success: { status: 200, contentType: 'application/json', body: '{"accepted":true}' },
  refusal: ({ kind }) => ({
    status: REFUSAL_STATUS[kind],
    contentType: 'application/json',
    body: '{"accepted":false}',
  }),
}

import type { AnswerForms } from '../provider.ts'
import { REFUSAL_STATUS } from '../refusal-status.ts'

/**
 * Accepted is exactly the seven characters `success`; anything else is sent again.
 * @see yansongda/laravel-pay#90: a BOM before them was enough to be called again
 */
export const alipayAnswers: AnswerForms = {
  success: { status: 200, contentType: 'text/plain', body: 'success' },
  refusal: ({ kind }) => ({ status: REFUSAL_STATUS[kind], contentType: 'text/plain', body: 'fail' }),
}

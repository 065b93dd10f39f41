import type { AnswerForms } from '../provider.ts'
import { REFUSAL_STATUS } from '../refusal-status.ts'

/**
 * Exactly 200 with the JSON object satisfies the older pages (200 and code SUCCESS) and the newer (200 or 204);
 * refusals all look alike.
 * @see WxJava#2501: retries went on until a real JSON object came back
 */
export const wechatpayAnswers: AnswerForms = {
  success: { status: 200, contentType: 'application/json', body: '{"code":"SUCCESS","message":"成功"}' },
  refusal: ({ kind }) => ({
    status: REFUSAL_STATUS[kind],
    contentType: 'application/json',
    body: '{"code":"FAIL","message":"失败"}',
  }),
}

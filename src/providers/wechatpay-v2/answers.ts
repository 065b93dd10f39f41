import type { AnswerForms } from '../provider.ts'
import { REFUSAL_STATUS } from '../refusal-status.ts'

const answer = (code: string, message: string) =>
  `<xml><return_code><![CDATA[${code}]]></return_code><return_msg><![CDATA[${message}]]></return_msg></xml>`

/**
 * Accepted is exactly this document, with CDATA and without a prolog; an empty 200, JSON or `success` are sent again.
 * @see befinal/node-tenpay#97: a prolog and plain text were not accepted
 */
export const wechatpayV2Answers: AnswerForms = {
  success: { status: 200, contentType: 'text/xml', body: answer('SUCCESS', 'OK') },
  refusal: ({ kind }) => ({ status: REFUSAL_STATUS[kind], contentType: 'text/xml', body: answer('FAIL', 'FAIL') }),
}

import { signWebhook } from '../standard-webhooks/sign.ts'

/** Signs a report as a worker does at that moment; `id` stays the same when the report is sent again. */
export const signReport = signWebhook

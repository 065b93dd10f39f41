import { PROVIDERS } from '../providers/registry.ts'

/** Whether an answer is the sender's success, to the byte. */
export function isSuccess(provider: string, status: number, contentType: string, body: string): boolean {
  const form = PROVIDERS.get(provider)?.answers.success
  return status === form?.status && body === form.body && contentType.split(';')[0] === form.contentType
}

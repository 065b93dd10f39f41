import type { BodyForm } from './distortion.ts'

const FORMS: ReadonlyMap<string, BodyForm> = new Map([
  ['alipay', 'form'],
  ['wechatpay-v2', 'xml'],
])

/** What a provider's bodies are: JSON unless said otherwise here. */
export const bodyForm = (provider: string): BodyForm => FORMS.get(provider) ?? 'json'

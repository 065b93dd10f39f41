import type { z } from 'zod'
import type { Source } from '../schemas/callback.ts'
import { alipayAnswers } from './alipay/answers.ts'
import { alipayConfig } from './alipay/config.ts'
import { createAlipay } from './alipay/create.ts'
import type { ConfigFiles } from './config-files.ts'
import type { AnswerForms, Provider } from './provider.ts'
import { standardWebhooksConfig } from './standard-webhooks/config.ts'
import { createStandardWebhooks } from './standard-webhooks/create.ts'
import { standardWebhooksAnswers, stripeAnswers } from './status-answers.ts'
import { stripeConfig } from './stripe/config.ts'
import { createStripe } from './stripe/create.ts'
import { wechatpayAnswers } from './wechatpay/answers.ts'
import { wechatpayConfig } from './wechatpay/config.ts'
import { createWechatpay } from './wechatpay/create.ts'
import { wechatpayV2Answers } from './wechatpay-v2/answers.ts'
import { wechatpayV2Config } from './wechatpay-v2/config.ts'
import { createWechatpayV2 } from './wechatpay-v2/create.ts'
import { workerConfig } from './worker/config.ts'
import { createWorker } from './worker/create.ts'

/** What is the same for every merchant of a provider, and how a merchant's section becomes a bound provider. */
export interface ProviderEntry {
  /** What the gateway writes into the callbacks of this provider. */
  readonly source: Source
  readonly answers: AnswerForms
  /** The section of a merchant's file, as a zod shape whose output is the provider bound to the keys it names. */
  readonly section: (files: ConfigFiles) => z.ZodType<Provider>
}

function entry<Config>(parts: {
  source: Source
  answers: AnswerForms
  parseConfig: (files: ConfigFiles) => z.ZodType<Config>
  create: (config: Config) => Provider
}): ProviderEntry {
  const { source, answers } = parts
  return { source, answers, section: (files) => parts.parseConfig(files).transform(parts.create) }
}

/** A map and no object: the name comes from a URL, and `constructor` is no provider. */
export const PROVIDERS: ReadonlyMap<string, ProviderEntry> = new Map([
  [
    'wechatpay',
    entry({ source: 'callback', answers: wechatpayAnswers, parseConfig: wechatpayConfig, create: createWechatpay }),
  ],
  [
    'wechatpay-v2',
    entry({
      source: 'callback',
      answers: wechatpayV2Answers,
      parseConfig: wechatpayV2Config,
      create: createWechatpayV2,
    }),
  ],
  ['alipay', entry({ source: 'callback', answers: alipayAnswers, parseConfig: alipayConfig, create: createAlipay })],
  ['stripe', entry({ source: 'callback', answers: stripeAnswers, parseConfig: stripeConfig, create: createStripe })],
  [
    'standard-webhooks',
    entry({
      source: 'callback',
      answers: standardWebhooksAnswers,
      parseConfig: standardWebhooksConfig,
      create: createStandardWebhooks,
    }),
  ],
  [
    'worker',
    entry({ source: 'worker', answers: standardWebhooksAnswers, parseConfig: workerConfig, create: createWorker }),
  ],
])

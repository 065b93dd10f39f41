import { z } from 'zod'
import type { ConfigFiles } from '../config-files.ts'
import { oneOf, querySection, type Problem, type QuerySection } from '../query-section.ts'
import type { StripeConfig } from './config.ts'
import type { StripeQueryConfig } from './query.ts'

export interface StripeQuerySection extends QuerySection {
  readonly secretKeyFile: string
  readonly account?: string | undefined
}

/** An account's key; a restricted one that may read PaymentIntents, charges and refunds is enough, and better. */
const KEY = /^(?:sk|rk)_(?:live|test)_[A-Za-z0-9_-]{1,240}$/

/** The section `stripe` of a merchant's file in QUERY_KEYS_DIR. */
export const stripeQuerySection = (files: ConfigFiles): z.ZodType<StripeQuerySection> =>
  z.strictObject({
    ...querySection('https://api.stripe.com'),
    secretKeyFile: files.secret.refine(
      (text) => KEY.test(text),
      'must hold an API key of the account, rk_live_… or sk_live_…, and no signing secret',
    ),
    account: z.string().optional(),
  })

export function bindStripeQuery(
  section: StripeQuerySection,
  merchant: StripeConfig,
  problem: Problem,
): StripeQueryConfig {
  const account = oneOf(section.account, merchant.accounts, { field: 'account', list: 'accounts', problem })
  const metadataKeys = merchant.outTradeNo.flatMap(({ tokens: [first, key, ...rest] }) =>
    first === 'metadata' && key !== undefined && rest.length === 0 ? [key] : [],
  )
  if (metadataKeys.length === 0)
    problem('cannot be used: no outTradeNo in MERCHANTS_DIR is metadata.<key>, and nothing else can be searched for')
  return { secretKey: section.secretKeyFile, account, merchant, metadataKeys }
}

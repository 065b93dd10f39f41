import type { z } from 'zod'
import { createAlipayAskBill } from './alipay/ask-bill.ts'
import { alipayConfig } from './alipay/config.ts'
import { createAlipayQuery } from './alipay/query.ts'
import { alipayQuerySection, bindAlipayQuery } from './alipay/query-config.ts'
import type { ConfigFiles } from './config-files.ts'
import type { AskBill, QueryClient } from './query.ts'
import { recovering, type QueryMeans } from './query-exchange.ts'
import type { Problem, QuerySection } from './query-section.ts'
import { stripeConfig } from './stripe/config.ts'
import { createStripeQuery } from './stripe/query.ts'
import { bindStripeQuery, stripeQuerySection } from './stripe/query-config.ts'
import { createWechatpayAskBill } from './wechatpay/ask-bill.ts'
import { wechatpayConfig } from './wechatpay/config.ts'
import { createWechatpayQuery } from './wechatpay/query.ts'
import { bindWechatpayQuery, wechatpayQuerySection } from './wechatpay/query-config.ts'
import { wechatpayV2Config } from './wechatpay-v2/config.ts'
import { createWechatpayV2Query } from './wechatpay-v2/query.ts'
import { bindWechatpayV2Query, wechatpayV2QuerySection } from './wechatpay-v2/query-config.ts'

/** A client as far as it is known without connections and clock. */
export interface BoundQuery {
  readonly section: QuerySection
  readonly bodyBytesMax: number
  readonly create: (means: QueryMeans) => QueryClient
}

/** How a provider's two sections become a client: what verifies from MERCHANTS_DIR, what signs from QUERY_KEYS_DIR. */
export interface QueryEntry {
  readonly merchantSection: (files: ConfigFiles) => z.ZodType
  /** Of a section that can be read, whose other side could not be: what is wrong in it is said all the same. */
  readonly section: (files: ConfigFiles) => z.ZodType
  /** @param section, merchant what those shapes made */
  readonly bind: (section: unknown, merchant: unknown, problem: Problem) => BoundQuery
}

function entry<Merchant, Section extends QuerySection, Config>(parts: {
  merchantSection: (files: ConfigFiles) => z.ZodType<Merchant>
  section: (files: ConfigFiles) => z.ZodType<Section>
  bind: (section: Section, merchant: Merchant, problem: Problem) => Config
  create: (config: Config, means: QueryMeans) => QueryClient
  createAskBill?: (config: Config, means: QueryMeans) => AskBill
  bodyBytesMax: number
}): QueryEntry {
  const { merchantSection, section, bodyBytesMax, createAskBill } = parts
  return {
    ...{ merchantSection, section },
    bind: (given, merchant, problem) => {
      const config = parts.bind(given as Section, merchant as Merchant, problem)
      return {
        section: given as Section,
        bodyBytesMax,
        create: (means) => ({
          ...recovering(parts.create(config, means), means),
          ...(createAskBill && { askBill: createAskBill(config, means) }),
        }),
      }
    },
  }
}

/** As of a callback. */
const BYTES_MAX = 65_536
/** Twenty PaymentIntents with their charges, or a hundred refunds. */
const LIST_BYTES_MAX = 524_288

export const QUERY_PROVIDERS: ReadonlyMap<string, QueryEntry> = new Map([
  [
    'wechatpay',
    entry({
      ...{ merchantSection: wechatpayConfig, section: wechatpayQuerySection, bind: bindWechatpayQuery },
      ...{ create: createWechatpayQuery, createAskBill: createWechatpayAskBill, bodyBytesMax: BYTES_MAX },
    }),
  ],
  [
    'wechatpay-v2',
    entry({
      ...{ merchantSection: wechatpayV2Config, section: wechatpayV2QuerySection, bind: bindWechatpayV2Query },
      ...{ create: createWechatpayV2Query, bodyBytesMax: BYTES_MAX },
    }),
  ],
  [
    'alipay',
    entry({
      ...{ merchantSection: alipayConfig, section: alipayQuerySection, bind: bindAlipayQuery },
      ...{ create: createAlipayQuery, createAskBill: createAlipayAskBill, bodyBytesMax: BYTES_MAX },
    }),
  ],
  [
    'stripe',
    entry({
      ...{ merchantSection: stripeConfig, section: stripeQuerySection, bind: bindStripeQuery },
      ...{ create: createStripeQuery, bodyBytesMax: LIST_BYTES_MAX },
    }),
  ],
])

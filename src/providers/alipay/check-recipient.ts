import type { AlipayConfig } from './config.ts'
import type { ReadText } from './decode-text.ts'

/**
 * The first field by which a well-signed message is none of ours: Alipay signs for every merchant with the same keys'
 * scheme, and a configuration may be another shop's. What it names must be ours; where it states something about a
 * trade, it must name the app and the seller (by number, or by e-mail where that is configured).
 */
export function foreignField(text: ReadText, config: AlipayConfig, statesTrade: boolean): string | undefined {
  const appId = text('app_id')
  if (appId === undefined ? statesTrade : !isOurs(appId, config.appIds)) return 'app_id'
  const sellerId = text('seller_id')
  const email = config.sellerEmails.size > 0 ? text('seller_email') : undefined
  if (sellerId !== undefined && config.sellerIds.size > 0 && !isOurs(sellerId, config.sellerIds)) return 'seller_id'
  if (email !== undefined && !isOurs(email, config.sellerEmails)) return 'seller_email'
  const isKnown = (sellerId !== undefined && config.sellerIds.size > 0) || email !== undefined
  return statesTrade && !isKnown ? (config.sellerIds.size > 0 ? 'seller_id' : 'seller_email') : undefined
}

const isOurs = (named: string | null, ours: ReadonlySet<string>) => named !== null && ours.has(named)

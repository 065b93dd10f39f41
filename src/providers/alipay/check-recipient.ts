import type { AlipayConfig } from './config.ts'
import type { ReadText } from './decode-text.ts'

/**
 * The first field by which a well-signed message is none of ours: Alipay signs for every merchant with the same keys'
 * scheme, and a configuration may be another shop's. What it names must be ours; where it states something about a
 * trade, it must name the app and the seller by number. The e-mail may only speak against it: the signed text has no
 * escape, so that another shop could write `&seller_email=` with ours into a value before it.
 */
export function foreignField(text: ReadText, config: AlipayConfig, statesTrade: boolean): string | undefined {
  const appId = text('app_id')
  if (appId === undefined ? statesTrade : !isOurs(appId, config.appIds)) return 'app_id'
  const sellerId = text('seller_id')
  if (sellerId === undefined ? statesTrade : !isOurs(sellerId, config.sellerIds)) return 'seller_id'
  const email = config.sellerEmails.size > 0 ? text('seller_email') : undefined
  return email === undefined || isOurs(email, config.sellerEmails) ? undefined : 'seller_email'
}

const isOurs = (named: string | null, ours: ReadonlySet<string>) => named !== null && ours.has(named)

import type { Fields } from '../fields.ts'

/** Whose messages a merchant's section takes. */
export interface Recipient {
  /** The number that WeChat Pay writes to; in partner mode the partner's (`sp_mchid`). */
  readonly mchid: string
  /** A merchant number serves several apps: official account, mini program, app. In partner mode the partner's. */
  readonly appids: ReadonlySet<string>
  /** In partner mode: the merchants whose orders these are. Empty: `mchid` is the merchant itself. */
  readonly subMchids: ReadonlySet<string>
  /** In partner mode: the apps of those merchants. Empty: the app of a sub-merchant is not looked at. */
  readonly subAppids: ReadonlySet<string>
}

/**
 * The field that says that a message is to somebody else, or that should say whom it is to and does not. WeChat Pay
 * signs for every merchant with one key, two of our merchants may share an APIv3 key, and a partner's is that of all
 * its sub-merchants.
 * @param must what it has to name: a refund notice names no app, and some other kinds nobody at all
 */
export function strangerField(fields: Fields, to: Recipient, must: 'app' | 'merchant' | 'nobody'): string | undefined {
  if (to.subMchids.size > 0) return strangerToPartner(fields, to, must)
  const { mchid, appid } = fields
  if (mchid === undefined ? must !== 'nobody' : mchid !== to.mchid) return 'mchid'
  if (appid === undefined ? must === 'app' : !has(to.appids, appid)) return 'appid'
  return isAbsent(fields['sub_mchid']) ? undefined : 'sub_mchid'
}

function strangerToPartner(fields: Fields, to: Recipient, must: 'app' | 'merchant' | 'nobody'): string | undefined {
  const { sp_mchid: spMchid, sub_mchid: subMchid, mchid } = fields
  if (spMchid === undefined ? must !== 'nobody' : spMchid !== to.mchid) return 'sp_mchid'
  if (subMchid === undefined ? must !== 'nobody' : !has(to.subMchids, subMchid)) return 'sub_mchid'
  if (mchid !== undefined && mchid !== to.mchid && !has(to.subMchids, mchid)) return 'mchid'
  const spAppid = fields['sp_appid'] ?? fields['appid']
  if (spAppid === undefined ? must === 'app' : !has(to.appids, spAppid)) return 'sp_appid'
  return isSubApp(fields['sub_appid'], to) ? undefined : 'sub_appid'
}

/** The same for one order of a combined payment, which names the partner as `mchid` and no app of the partner's. */
export function strangerInCombined(order: Fields, to: Recipient): string | undefined {
  const { mchid, sub_mchid: subMchid } = order
  if (mchid !== to.mchid) return 'mchid'
  if (to.subMchids.size === 0) return isAbsent(subMchid) ? undefined : 'sub_mchid'
  if (!has(to.subMchids, subMchid)) return 'sub_mchid'
  return isSubApp(order['sub_appid'], to) ? undefined : 'sub_appid'
}

const has = (set: ReadonlySet<string>, value: unknown) => typeof value === 'string' && set.has(value)
const isAbsent = (value: unknown) => value === undefined || value === null || value === ''
/** A sub-merchant may have no app of its own. */
const isSubApp = (appid: unknown, { subAppids }: Recipient) =>
  isAbsent(appid) || subAppids.size === 0 || has(subAppids, appid)

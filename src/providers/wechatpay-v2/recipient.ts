import type { Recipient } from '../wechatpay/recipient.ts'
import type { XmlFields } from './parse-flat-xml.ts'
import { textOf } from './read-text.ts'

/**
 * The field that says that a message is to somebody else, or that should say whom it is to and does not: two of our
 * merchants may have one API key, and a partner's key is that of all its merchants, so that without `sub_mch_id` the
 * orders of one would be another's.
 * @param must what it has to name: a contract names no app
 */
export function strangerField(fields: XmlFields, to: Recipient, must: 'app' | 'merchant'): string | undefined {
  const [mchid, appid, subMchid, subAppid] = NAMES.map((name) => textOf(fields, name))
  if (mchid !== to.mchid) return 'mch_id'
  if (appid === undefined ? must === 'app' : !to.appids.has(appid)) return 'appid'
  if (subMchid === undefined ? to.subMchids.size > 0 : !to.subMchids.has(subMchid)) return 'sub_mch_id'
  // A partner's merchant may have no app of its own.
  return subAppid === undefined || to.subAppids.size === 0 || to.subAppids.has(subAppid) ? undefined : 'sub_appid'
}

const NAMES = ['mch_id', 'appid', 'sub_mch_id', 'sub_appid']

import { z } from 'zod'
import { oneOf, querySection, type Problem, type QuerySection } from '../query-section.ts'
import type { WechatpayV2Config } from './config.ts'
import type { WechatpayV2QueryConfig } from './query.ts'
import { SIGN_TYPES, type SignType } from './signature.ts'

export interface WechatpayV2QuerySection extends QuerySection {
  readonly appid?: string | undefined
  readonly subMchid?: string | undefined
  readonly signType?: SignType | undefined
}

/**
 * The section `wechatpay-v2` of a merchant's file in QUERY_KEYS_DIR. It has no key of its own: the API key that
 * verifies also signs, and a copy of it would be forgotten when it changes.
 */
export const wechatpayV2QuerySection = (): z.ZodType<WechatpayV2QuerySection> =>
  z.strictObject({
    ...querySection('https://api.mch.weixin.qq.com'),
    appid: z.string().optional(),
    subMchid: z.string().optional(),
    signType: z.enum(SIGN_TYPES).optional(),
  })

export function bindWechatpayV2Query(
  section: WechatpayV2QuerySection,
  merchant: WechatpayV2Config,
  problem: Problem,
): WechatpayV2QueryConfig {
  const { appids, subMchids, signTypes } = merchant
  const [first = ''] = appids
  const { appid = first, signType = signTypes.has('HMAC-SHA256') ? 'HMAC-SHA256' : 'MD5' } = section
  if (!appids.has(appid)) problem('is not among appids in MERCHANTS_DIR', 'appid')
  // The answer is signed as the question is.
  if (!signTypes.has(signType)) problem('is not among signTypes in MERCHANTS_DIR', 'signType')
  const subMchid = oneOf(section.subMchid, subMchids, { field: 'subMchid', list: 'subMchids', problem })
  const bound = { ...merchant, subMchids: new Set(subMchid === undefined ? [] : [subMchid]) }
  return { merchant: bound, appid, subMchid, signType }
}

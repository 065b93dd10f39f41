import { createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto'
import { z } from 'zod'
import type { ConfigFiles } from '../config-files.ts'
import { oneOf, querySection, type Problem, type QuerySection } from '../query-section.ts'
import type { WechatpayConfig } from './config.ts'
import type { WechatpayQueryConfig } from './query.ts'

export interface WechatpayQuerySection extends QuerySection {
  readonly privateKeyFile: KeyObject
  readonly serial?: string | undefined
  readonly certificateFile?: X509Certificate | undefined
  readonly subMchid?: string | undefined
}

/** The section `wechatpay` of a merchant's file in QUERY_KEYS_DIR. */
export const wechatpayQuerySection = (files: ConfigFiles): z.ZodType<WechatpayQuerySection> =>
  z.strictObject({
    ...querySection('https://api.mch.weixin.qq.com'),
    privateKeyFile: files.privateKey,
    serial: z
      .string()
      .regex(
        /^[0-9A-Fa-f]{1,40}$/,
        "must be the serial of the merchant's API certificate, hexadecimal as the console shows it",
      )
      .transform((text) => text.toUpperCase())
      .optional(),
    certificateFile: files.certificate.optional(),
    subMchid: z.string().optional(),
  })

export function bindWechatpayQuery(
  section: WechatpayQuerySection,
  merchant: WechatpayConfig,
  problem: Problem,
): WechatpayQueryConfig {
  const { privateKeyFile: privateKey, certificateFile: certificate, serial = certificate?.serialNumber } = section
  if (serial === undefined) problem("must be set, or the merchant's API certificate in certificateFile", 'serial')
  if (certificate !== undefined && certificate.serialNumber !== serial)
    problem('is not the serial of certificateFile: leave one of the two out', 'serial')
  if (certificate !== undefined && !certificate.publicKey.equals(createPublicKey(privateKey)))
    problem('is not the certificate of privateKeyFile', 'certificateFile')
  const { subMchids, platformKeys, ...recipient } = merchant
  const subMchid = oneOf(section.subMchid, subMchids, { field: 'subMchid', list: 'subMchids', problem })
  return {
    recipient: { ...recipient, subMchids: new Set(subMchid === undefined ? [] : [subMchid]) },
    ...{ subMchid, platformKeys },
    certificate: { serial: serial ?? '', privateKey },
  }
}

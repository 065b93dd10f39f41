import { createPublicKey, X509Certificate, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { ConfigFiles } from '../config-files.ts'
import { oneOf, querySection, type Problem, type QuerySection } from '../query-section.ts'
import { certSnOf } from './cert-sn.ts'
import type { AlipayConfig } from './config.ts'
import type { AlipayQueryConfig } from './query.ts'

export interface AlipayQuerySection extends QuerySection {
  readonly appId?: string | undefined
  readonly privateKeyFile: KeyObject
  readonly appCertificateFile?: X509Certificate | undefined
  readonly rootCertificateFile?: string | undefined
}

/** The section `alipay` of a merchant's file in QUERY_KEYS_DIR. */
export const alipayQuerySection = (files: ConfigFiles): z.ZodType<AlipayQuerySection> =>
  z.strictObject({
    ...querySection('https://openapi.alipay.com'),
    appId: z.string().optional(),
    privateKeyFile: files.privateKey,
    appCertificateFile: files.certificate.optional(),
    rootCertificateFile: files.text
      .transform(rootCertSn)
      .refine((sn) => sn !== '', "must hold Alipay's root certificates (alipayRootCert.crt) in PEM form")
      .optional(),
  })

export function bindAlipayQuery(
  section: AlipayQuerySection,
  merchant: AlipayConfig,
  problem: Problem,
): AlipayQueryConfig {
  const { privateKeyFile: privateKey, appCertificateFile: certificate, rootCertificateFile: rootSn } = section
  const appId = oneOf(section.appId, merchant.appIds, { field: 'appId', list: 'appIds', problem })
  const hasCertificates = merchant.keys.some(({ certSn }) => certSn !== null)
  if (hasCertificates && certificate === undefined)
    problem(
      'must be set: MERCHANTS_DIR has certificateFiles, and then the app signs under a certificate too',
      'appCertificateFile',
    )
  if ((certificate === undefined) !== (rootSn === undefined))
    problem(
      'must be set together with the other of appCertificateFile and rootCertificateFile',
      rootSn === undefined ? 'rootCertificateFile' : 'appCertificateFile',
    )
  if (certificate !== undefined && !certificate.publicKey.equals(createPublicKey(privateKey)))
    problem('is not the certificate of privateKeyFile', 'appCertificateFile')
  const certificates =
    certificate === undefined || rootSn === undefined
      ? undefined
      : { appCertSn: certSnOf(certificate), rootCertSn: rootSn }
  return {
    ...{ keys: merchant.keys, sellerIds: merchant.sellerIds },
    caller: { appId: appId ?? '', privateKey, certificates },
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * The number of the roots that are RSA's, joined by `_`: the file has one of SM2 too, which takes no part.
 * @see https://github.com/alipay/alipay-sdk-nodejs-all `src/antcertutil.ts`
 */
export const rootCertSn = (bundle: string): string =>
  (bundle.match(PEM) ?? [])
    .flatMap((pem) => {
      try {
        const certificate = new X509Certificate(pem)
        return certificate.publicKey.asymmetricKeyType === 'rsa' ? [certSnOf(certificate)] : []
      } catch {
        return []
      }
    })
    .join('_')

import { hash, type X509Certificate } from 'node:crypto'

/**
 * The number by which Alipay names a certificate (`alipay_cert_sn`): MD5 of its issuer, last part first as RFC 2253
 * writes it, followed by its serial in decimal. MD5 only names here; what it names was configured.
 * @see https://github.com/alipay/alipay-sdk-nodejs-all `src/antcertutil.ts`
 */
export function certSnOf({ issuer, serialNumber }: X509Certificate): string {
  const name = issuer.split('\n').reverse().join(',')
  return hash('md5', `${name}${BigInt(`0x${serialNumber}`)}`, 'hex')
}

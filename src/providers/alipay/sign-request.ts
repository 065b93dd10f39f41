import { sign, type KeyObject } from 'node:crypto'
import { alipayTime } from './sign.ts'

/** Who asks, and how it signs. */
export interface AlipayCaller {
  readonly appId: string
  readonly privateKey: KeyObject
  /** In certificate mode, what names our certificate and Alipay's root. */
  readonly certificates?: { readonly appCertSn: string; readonly rootCertSn: string } | undefined
}

/**
 * A signed request: what is common to all goes into the query, what is asked into the form, as Alipay's own SDK does.
 * Signed are all parameters, `sign_type` too, unlike in a notice.
 * @see https://opendocs.alipay.com/common/057k53
 */
export function signRequest(
  method: string,
  content: object,
  { appId, privateKey, certificates }: AlipayCaller,
  at: Date,
): { readonly path: string; readonly body: string } {
  const common: Record<string, string> = {
    ...{ app_id: appId, charset: 'utf-8', format: 'JSON', method, sign_type: 'RSA2' },
    ...{ timestamp: alipayTime(at), version: '1.0' },
    ...(certificates && { app_cert_sn: certificates.appCertSn, alipay_root_cert_sn: certificates.rootCertSn }),
  }
  const form = { biz_content: JSON.stringify(content) }
  const signature = sign('RSA-SHA256', Buffer.from(requestContent({ ...common, ...form })), privateKey)
  const query = new URLSearchParams({ ...common, sign: signature.toString('base64') })
  return { path: `/gateway.do?${query.toString()}`, body: new URLSearchParams(form).toString() }
}

/** What is signed of a request: `k=v` joined by `&` by the names' order, without `sign` and empty values. */
export const requestContent = (parameters: Readonly<Record<string, string>>): string =>
  Object.keys(parameters)
    .filter((name) => name !== 'sign' && parameters[name] !== '')
    .sort()
    .map((name) => `${name}=${parameters[name] ?? ''}`)
    .join('&')

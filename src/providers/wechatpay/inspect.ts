import { verify } from 'node:crypto'
import { fingerprint } from '../fingerprint.ts'
import { signedSec } from '../freshness.ts'
import type { Inspection } from '../provider.ts'
import { decodeSignature } from '../signature.ts'
import type { PlatformKey } from './config.ts'
import { serialOf, signedMessage } from './verify.ts'

/** The signature of a notification, taken apart. */
export const inspectWechatpay = (platformKeys: ReadonlyMap<string, PlatformKey>): Inspection => {
  const canonical: Inspection['canonical'] = ({ headers, rawBody }) => {
    const [timestamp, nonce] = [headers['wechatpay-timestamp'], headers['wechatpay-nonce']]
    return timestamp === undefined || nonce === undefined ? undefined : signedMessage(timestamp, nonce, rawBody)
  }
  return {
    keys: [...platformKeys].map(([id, { key, validToMs }]) => ({ id, fingerprint: fingerprint(key), validToMs })),
    canonical,
    verifies: (request, keyId) => {
      const [content, platform] = [canonical(request), platformKeys.get(keyId)]
      const signature = decodeSignature(request.headers['wechatpay-signature'] ?? '')
      if (content === undefined || platform === undefined || signature === undefined) return false
      return verify('RSA-SHA256', content, platform.key, signature)
    },
    namedKey: ({ headers }) => {
      const named = headers['wechatpay-serial']
      return named === undefined ? undefined : serialOf(named)
    },
    signedAtSec: ({ headers }) => signedSec(headers['wechatpay-timestamp'] ?? ''),
  }
}

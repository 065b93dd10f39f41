import { hash } from 'node:crypto'

/**
 * Providers whose messages name no merchant: whoever knows the secret decides where they are taken. WeChat Pay's keys
 * and Alipay's are shared by nature, and their messages name the merchant, as do those under an APIv3 key.
 */
const NAME_NO_MERCHANT: ReadonlySet<string> = new Set(['worker', 'standard-webhooks', 'stripe'])
const SECRET = /^whsec_/

/** Finds a secret that is used in two places: a message for one would be taken in the other. */
export function createSecretPlaces() {
  const places = new Map<string, { readonly provider: string; readonly merchant: string }>()
  return {
    /** @returns what is wrong, with both places and without the secret; undefined if it is known here only */
    note: (secret: string, provider: string, merchant: string): string | undefined => {
      if (!NAME_NO_MERCHANT.has(provider) || !SECRET.test(secret)) return undefined
      const name = hash('sha256', provider === 'stripe' ? secret.replace(/=+$/, '') : spelledOnce(secret))
      const first = places.get(name)
      if (first === undefined) places.set(name, { provider, merchant })
      if (first === undefined || (first.provider === provider && first.merchant === merchant)) return undefined
      return `✖ ${merchant}.json: ${provider}: has the same secret as ${first.provider} of ${first.merchant}.json, so that a message for one is taken by the other: give each its own`
    },
  }
}

/** The text that stands for its bytes: base64 has several for most. */
const spelledOnce = (secret: string) =>
  `whsec_${Buffer.from(secret.replace(SECRET, ''), 'base64').toString('base64').replace(/=+$/, '')}`

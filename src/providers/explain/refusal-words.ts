import type { Rejection } from '../provider.ts'

export interface Words {
  readonly words: string
  readonly remedy: string
}

const shown = (text: string) => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 128)

/** What a refusal means that is not the signature's. */
export function refusalWords(rejection: Rejection): Words {
  switch (rejection.kind) {
    case 'missing_header':
      return {
        words: `The header ${rejection.header} is missing.`,
        remedy: 'Let the proxy, CDN or WAF in front pass all headers on; or this is no callback of this provider.',
      }
    case 'repeated_header':
      return {
        words: `The header ${rejection.header} comes more than once.`,
        remedy: 'Find what in front adds it, and take that out.',
      }
    case 'malformed':
      return {
        words: `${shown(rejection.field)} is not as the provider documents it${rejection.detail === undefined ? '' : ` (${shown(rejection.detail)})`}.`,
        remedy: 'If the signature is good, the provider has changed something: report it, with the canonical bytes.',
      }
    case 'stale':
      return {
        words: `It was signed ${Math.abs(rejection.ageSec)} s ${rejection.ageSec < 0 ? 'after' : 'before'} the time by which it is judged; 300 s are allowed.`,
        remedy:
          'A saved request: give --at. A live one: set the clock of the gateway (NTP). Else it is an old one that somebody sends again.',
      }
    case 'unknown_key':
      return {
        words: `It names the key ${shown(rejection.keyId)}, which this merchant does not hold, or no longer.`,
        remedy: "Put that key into the merchant's file: from the provider's console, beside those that are there.",
      }
    case 'bad_signature':
      return {
        words: 'No key of this merchant made the signature over these bytes.',
        remedy: 'Save the request where it enters, as raw bytes, and ask again; or it is forged.',
      }
    case 'signature_probe':
      return {
        words: 'A probe: WeChat Pay signs a few requests wrongly on purpose, to see who checks.',
        remedy: 'Nothing: refusing it is right. The genuine callback comes afterwards.',
      }
    case 'undecryptable':
      return {
        words:
          'The signature is good, but none of the keys in apiV3KeyFiles (or keys of this merchant) opens what is encrypted.',
        remedy: "Put the APIv3 key that is set in the merchant's console beside the old one: it was changed there.",
      }
    case 'wrong_recipient':
      return {
        words: `The signature is good, but ${shown(rejection.field)} is not one of this merchant's.`,
        remedy: `If it is yours, add it to the merchant's file; else the notify address of another shop points here.`,
      }
  }
}

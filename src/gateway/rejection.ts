import type { GatewayRejection, Rejection } from '../providers/provider.ts'
import { printable } from '../runtime/printable.ts'

export type Refusal = Rejection | GatewayRejection

/** Who has to act, which is also how loud the log line is. */
type Cause =
  /** Anybody on the internet can cause it. */
  | 'sender'
  /** The sender proved itself, or named a key that may be missing here: somebody's configuration is wrong. */
  | 'configuration'
  /** Nothing was promised: the sender comes again. */
  | 'ourselves'

const CAUSE = {
  missing_header: 'sender',
  repeated_header: 'sender',
  malformed: 'sender',
  stale: 'sender',
  bad_signature: 'sender',
  signature_probe: 'sender',
  unknown_provider: 'sender',
  unknown_merchant: 'sender',
  too_large: 'sender',
  incomplete_body: 'sender',
  unknown_key: 'configuration',
  undecryptable: 'configuration',
  wrong_recipient: 'configuration',
  overloaded: 'ourselves',
  broker_unavailable: 'ourselves',
  internal: 'ourselves',
} as const satisfies Record<Refusal['kind'], Cause>

const LEVEL = { sender: 'info', configuration: 'warn', ourselves: 'warn' } as const satisfies Record<Cause, string>

/** Every refusal, mapped once: what the counters call it and how it is logged. The answer is the provider's own. */
export function describeRefusal(refusal: Refusal) {
  const cause: Cause = CAUSE[refusal.kind]
  return { reason: refusal.kind, outcome: cause === 'ourselves' ? 'failed' : 'refused', level: LEVEL[cause] } as const
}

const NO_SERIAL = '(not a serial)'
/** Of WeChat Pay; a certificate's has 40 digits, less its leading zeros. All of its secrets have 32 characters. */
const SERIAL = /^(?:PUB_KEY_ID_\d{1,40}|[0-9A-Fa-f]{33,40})$/
/** Of Alipay, which shares no secret that could look like it: an MD5 in hexadecimal, by some without leading zeros. */
const CERT_SN = /^[0-9a-f]{28,32}$/

/** A key's name as the request has it, if it can be one: people paste the key itself there. */
const keyIdIn = (keyId: string, provider: string) =>
  keyId === provider || SERIAL.test(keyId) || (provider === 'alipay' && CERT_SN.test(keyId)) ? keyId : NO_SERIAL

/** The refusal's own facts for the log; strings that a sender chose are cut, and nothing in them reaches a terminal. */
export function refusalFields(refusal: Refusal, provider: string): Record<string, string | number> {
  const shown = refusal.kind === 'unknown_key' ? { keyId: keyIdIn(refusal.keyId, provider) } : {}
  return Object.fromEntries(
    Object.entries({ ...refusal, ...shown } as Record<string, string | number>)
      .filter(([name]) => name !== 'kind')
      .map(([name, value]) => [name, typeof value === 'string' ? printable(value.slice(0, 128)) : value]),
  )
}

import type { GatewayRejection, Rejection } from '../providers/provider.ts'
import { printable } from '../runtime/printable.ts'

export type Refusal = Rejection | GatewayRejection

/** Who has to act, which is also how loud the log line is. */
type Cause =
  /** Anybody on the internet can cause it. */
  | 'sender'
  /** Anybody can cause it too, and so does a key that is missing here. */
  | 'key'
  /** The sender proved itself: somebody's configuration is wrong. */
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
  unknown_key: 'key',
  undecryptable: 'configuration',
  wrong_recipient: 'configuration',
  overloaded: 'ourselves',
  broker_unavailable: 'ourselves',
  internal: 'ourselves',
} as const satisfies Record<Refusal['kind'], Cause>

/** Every reason for which a callback is not accepted. */
export const REFUSAL_KINDS = Object.keys(CAUSE) as readonly Refusal['kind'][]

/** WeChat Pay v2 signs no refund notice: that it cannot be opened says nothing of who sent it. */
const causeOf = ({ kind }: Refusal, provider: string): Cause =>
  kind === 'undecryptable' && provider === 'wechatpay-v2' ? 'key' : CAUSE[kind]

const LOGGED = {
  sender: { level: 'info', words: 'callback refused' },
  key: { level: 'info', words: 'callback refused: a key that we do not hold, or a forgery' },
  configuration: { level: 'warn', words: 'callback refused' },
  ourselves: { level: 'warn', words: 'callback refused' },
} as const satisfies Record<Cause, { level: string; words: string }>

/** Every refusal, mapped once: what the counters call it. The answer is the provider's own. */
export const describeRefusal = ({ kind }: Refusal) =>
  ({ reason: kind, outcome: CAUSE[kind] === 'ourselves' ? 'failed' : 'refused' }) as const

/** How it is logged: a warning only where nobody else can cause it. */
export const logged = (refusal: Refusal, provider: string) => LOGGED[causeOf(refusal, provider)]

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

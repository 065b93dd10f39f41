import type { GatewayRejection, Rejection } from '../providers/provider.ts'

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

/** The refusal's own facts for the log; strings that a sender chose are cut, and JSON escapes what is in them. */
export const refusalFields = (refusal: Refusal): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(refusal as Record<string, string | number>)
      .filter(([name]) => name !== 'kind')
      .map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, 128) : value]),
  )

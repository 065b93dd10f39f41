import type { GatewayRejection, Rejection } from './provider.ts'

/**
 * One HTTP status per way to be refused, for every provider: none of them is 2xx, as WeChat Pay takes any 200 for
 * accepted, whatever its body says. 5xx where the trouble is ours (a key not configured, an APIv3 key changed in the
 * console only): the provider sends again while it is being fixed.
 */
export const REFUSAL_STATUS = {
  missing_header: 400,
  repeated_header: 400,
  malformed: 400,
  stale: 400,
  bad_signature: 401,
  signature_probe: 401,
  wrong_recipient: 403,
  unknown_key: 503,
  undecryptable: 503,
  unknown_provider: 404,
  unknown_merchant: 404,
  incomplete_body: 400,
  too_large: 413,
  overloaded: 503,
  broker_unavailable: 503,
  internal: 500,
} as const satisfies Record<(Rejection | GatewayRejection)['kind'], number>

import type { KeyObject } from 'node:crypto'
import { hmacSignature, SIGNATURE_HEADER } from './verify.ts'

export interface EventParts {
  readonly id: string
  readonly type: string
  /** The PaymentIntent, Refund, Charge or Dispute as it is at that moment. */
  readonly object: object
  /** When it happened; the same at every delivery. */
  readonly at: Date
  readonly livemode?: boolean
  /** Only for events of connected accounts. */
  readonly account?: string
}

/** An event as Stripe writes it; the bytes that `signEvent` signs. */
export const stripeEvent = ({ id, type, object, at, livemode = true, account }: EventParts) => ({
  ...{ id, object: 'event' },
  ...(account === undefined ? {} : { account }),
  api_version: '2025-09-30.clover',
  created: Math.floor(at.getTime() / 1_000),
  data: { object },
  livemode,
  pending_webhooks: 1,
  request: { id: null, idempotency_key: null },
  type,
})

/** Signs an event as Stripe does at that moment, once per secret. Each delivery is signed afresh. */
export function signEvent(event: object | string | Buffer, secrets: readonly KeyObject[], at: Date) {
  const rawBody = Buffer.from(typeof event === 'string' || Buffer.isBuffer(event) ? event : JSON.stringify(event))
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const signatures = secrets.map((secret) => `v1=${hmacSignature(secret, timestamp, rawBody).toString('hex')}`)
  return {
    headers: {
      'content-type': 'application/json; charset=utf-8',
      [SIGNATURE_HEADER]: [`t=${timestamp}`, ...signatures].join(','),
    },
    rawBody,
  }
}

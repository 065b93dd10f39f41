import type { KeyObject } from 'node:crypto'
import type { Fact } from '../../src/orders/model.ts'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { stripeSecret, type StripeConfig } from '../../src/providers/stripe/config.ts'
import { createStripe } from '../../src/providers/stripe/create.ts'
import { signEvent, stripeEvent } from '../../src/providers/stripe/sign.ts'

export const NOW = new Date('2026-01-02T03:04:05Z')
/** When the payment, and what followed, happened. */
export const PAID_AT = new Date('2026-01-02T03:04:00Z')
export const seconds = (at: Date) => Math.floor(at.getTime() / 1_000)

export const SECRET = 'whsec_synthetic0000000000000000000001'
export const secret = stripeSecret(SECRET)
export const newer = stripeSecret('whsec_synthetic0000000000000000000002')
export const stranger = stripeSecret('whsec_synthetic0000000000000000000003')

const METADATA = { text: 'metadata.out_trade_no', tokens: ['metadata', 'out_trade_no'] }
export const bound = (change: Partial<StripeConfig> = {}, ...secrets: KeyObject[]) =>
  createStripe({
    secrets: (secrets.length > 0 ? secrets : [newer, secret]).map((value) => ({ value, validToMs: Infinity })),
    livemode: true,
    accounts: new Set(),
    recipient: [],
    outTradeNo: [METADATA],
    ...change,
  })
export const provider = bound()

export const intent = {
  id: 'pi_3Synthetic00000000001',
  object: 'payment_intent',
  amount: 8_800,
  amount_received: 8_800,
  created: seconds(PAID_AT) - 600,
  currency: 'usd',
  description: '会员 \u{1f600} "5% off"',
  last_payment_error: null,
  latest_charge: 'ch_3Synthetic00000000001',
  livemode: true,
  metadata: { out_trade_no: 'T1', note: 'a=b,c' },
  status: 'succeeded',
}
export const failedIntent = {
  ...intent,
  amount_received: 0,
  last_payment_error: { code: 'card_declined', decline_code: 'insufficient_funds', type: 'card_error' },
  status: 'requires_payment_method',
}
export const refund = {
  id: 're_3Synthetic00000000001',
  object: 'refund',
  amount: 1_000,
  charge: 'ch_3Synthetic00000000001',
  created: seconds(PAID_AT) + 1,
  currency: 'usd',
  metadata: { out_trade_no: 'T1', out_refund_no: 'R-1' },
  payment_intent: intent.id,
  reason: 'requested_by_customer',
  status: 'succeeded',
}
export const charge = {
  id: 'ch_3Synthetic00000000001',
  object: 'charge',
  amount: 8_800,
  amount_captured: 8_800,
  amount_refunded: 1_000,
  captured: true,
  created: seconds(PAID_AT) - 5,
  currency: 'usd',
  metadata: { out_trade_no: 'T1' },
  paid: true,
  payment_intent: intent.id,
  refunded: false,
  status: 'succeeded',
}
export const dispute = {
  id: 'dp_1Synthetic00000000001',
  object: 'dispute',
  amount: 8_800,
  charge: charge.id,
  created: seconds(PAID_AT) + 2,
  currency: 'usd',
  metadata: { out_trade_no: 'T1' },
  payment_intent: intent.id,
  reason: 'fraudulent',
  status: 'needs_response',
}

/** An event as `stripeEvent` makes it, of an object. */
export const eventOf = (type: string, object: object, change: object = {}) => ({
  ...stripeEvent({ id: 'evt_3Synthetic00000000001', type, object, at: PAID_AT }),
  ...change,
})
export const signed = (event: object | string | Buffer, secrets: readonly KeyObject[] = [secret]): CallbackRequest => ({
  ...signEvent(event, secrets, NOW),
  repeatedHeaders: [],
})
export const verdictOf = (type: string, object: object, change: object = {}) =>
  provider.verify(signed(eventOf(type, object, change)), NOW)
/** What an event proves. */
export function factsOf(type: string, object: object, change: object = {}): readonly Fact[] {
  const verdict = verdictOf(type, object, change)
  if (verdict.kind === 'verified') return verdict.messages.flatMap(({ facts }) => facts)
  throw new Error(`refused: ${JSON.stringify(verdict.rejection)}`)
}

import type { VerifiedMessage } from '../../src/providers/provider.ts'
import { fuzzProvider } from './fuzz.ts'
import {
  charge,
  dispute,
  eventOf,
  failedIntent,
  intent,
  newer,
  NOW,
  provider,
  refund,
  secret,
  signed,
} from './stripe-subject.ts'

const events = [
  eventOf('payment_intent.succeeded', intent),
  eventOf('payment_intent.succeeded', {
    ...intent,
    id: 'pi_2',
    metadata: { out_trade_no: '订单2' },
    amount_received: 1,
  }),
  eventOf('payment_intent.payment_failed', failedIntent),
  eventOf('refund.created', refund),
  eventOf('refund.updated', { ...refund, id: 're_2', status: 'pending' }),
  eventOf('refund.failed', { ...refund, status: 'failed' }),
  eventOf('charge.refunded', { ...charge, amount_refunded: 2_000 }),
  eventOf('charge.dispute.created', { ...dispute, metadata: {} }),
  eventOf('invoice.paid', { object: 'invoice' }),
]
const genuine = events.map((event, index) => signed(event, index % 2 === 0 ? [secret] : [newer, secret]))
const said = genuine.map((request): readonly VerifiedMessage[] => {
  const verdict = provider.verify(request, NOW)
  if (verdict.kind === 'verified') return verdict.messages
  throw new Error(`not genuine: ${JSON.stringify(verdict)}`)
})

fuzzProvider('Stripe', {
  provider,
  now: NOW,
  genuine,
  expected: said,
  signed: [
    {
      what: 'events',
      bodies: genuine.map(({ rawBody }) => rawBody),
      sign: (body) => signed(body),
    },
  ],
})

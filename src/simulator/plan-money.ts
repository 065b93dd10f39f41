import type { PlanContext } from './plan-story.ts'
import type { Form, PlannedCallback, PlannedRefund, PlannedTransaction } from './planned.ts'
import type { Random } from './random.ts'
import { drawProvider, type PaymentProvider, type Story } from './stories.ts'
import { planRefunds } from './plan-refunds.ts'

/** What happens at the providers, and what they tell of it. */
export interface Money {
  readonly currency: string
  readonly closeAtMs: number | null
  readonly callbacks: readonly (Omit<PlannedCallback, 'messageId' | 'bursts'> & { readonly startMs: number })[]
}

interface NamedOrder {
  readonly outTradeNo: string
  readonly amountMinor: number
}

export function planMoney(
  story: Story,
  provider: PaymentProvider,
  [order, ...others]: readonly NamedOrder[],
  context: PlanContext & { readonly startMs: number },
): Money {
  const { random, providers, againMs, startMs } = context
  if (order === undefined) throw new Error('a story has an order')
  const currency = currencyOf(provider, random)
  const later = () => startMs + 1 + random.below(againMs)
  const amountMinor = story === 'wrong_amount' ? order.amountMinor + 1 : order.amountMinor
  const refunds = planRefunds(story, provider, { ...order, n: 1 }, startMs, context)
  const of = (n: number, by: PaymentProvider, atMs: number): PlannedTransaction => ({
    ...{ provider: by, form: formOf(by, story, random), transactionId: transactionIdOf(by, order.outTradeNo, n) },
    ...{ outTradeNo: order.outTradeNo, amountMinor, currency, atMs, state: 'paid', refunds: n === 1 ? refunds : [] },
    disputeId: story === 'disputed' ? `dp_${order.outTradeNo}` : null,
    others: others.map((one, index) => ({ ...one, transactionId: transactionIdOf(by, one.outTradeNo, index + 2) })),
  })
  const first = of(1, provider, startMs)
  const tell = (
    event: PlannedCallback['event'],
    atMs: number,
    transaction = first,
    refund: PlannedRefund | null = null,
  ) => ({ event, transaction, refund, afterClose: story === 'late_success', startMs: atMs })
  const money = { currency, closeAtMs: null }
  switch (story) {
    case 'second_payment': {
      const other = currency === 'CNY' ? (drawProvider(random, 'paid', providers) ?? provider) : provider
      return { ...money, callbacks: [tell('payment', startMs), tell('payment', later(), of(2, other, later()))] }
    }
    case 'closed':
      return provider === 'alipay' && random.chance(0.5)
        ? { ...money, callbacks: [tell('closed', startMs, { ...first, state: 'closed' })] }
        : { ...money, closeAtMs: startMs, callbacks: [] }
    case 'late_success':
      return { ...money, closeAtMs: startMs, callbacks: [tell('payment', startMs)] }
    case 'payment_failed':
      return { ...money, callbacks: [tell('payment_failed', startMs), tell('payment', later())] }
    case 'disputed':
      return { ...money, callbacks: [tell('payment', startMs), tell('dispute', later())] }
    case 'waiting':
    case 'finished':
      return { ...money, callbacks: [tell(story, story === 'waiting' ? startMs : later()), tell('payment', startMs)] }
    default: {
      const told = refunds.flatMap((refund) =>
        refundEvents(provider, refund).map((event) => tell(event, refund.atMs, first, refund)),
      )
      const heardFirst = story === 'refund_first' ? refunds[0] : undefined
      const paidMs = heardFirst === undefined ? startMs : heardFirst.atMs + 1 + random.below(againMs)
      return { ...money, callbacks: [tell('payment', paidMs), ...told] }
    }
  }
}

/** Stripe tells of each refund and of the sum; WeChat Pay and Stripe have words for one that fails. */
function refundEvents(provider: PaymentProvider, { state }: PlannedRefund): PlannedCallback['event'][] {
  if (state === 'succeeded') return provider === 'stripe' ? ['refund', 'refund_total'] : ['refund']
  return [state === 'closed' ? 'refund_closed' : 'refund_abnormal']
}

const ID_PREFIX = {
  wechatpay: '4200',
  'wechatpay-v2': '4200',
  alipay: '2026',
  stripe: 'pi_',
  'standard-webhooks': 'tx_',
}

/** The provider's own id of an order's n-th transaction. */
export const transactionIdOf = (provider: PaymentProvider, outTradeNo: string, n: number) =>
  `${ID_PREFIX[provider]}${outTradeNo}-${n}`

const currencyOf = (provider: PaymentProvider, random: Random) =>
  provider === 'stripe' || provider === 'standard-webhooks' ? random.pick(['CNY', 'USD', 'EUR', 'JPY']) : 'CNY'

function formOf(provider: PaymentProvider, story: Story, random: Random): Form {
  if (story === 'combined') return 'combined'
  return provider === 'alipay' && random.chance(0.3) ? 'gbk' : 'plain'
}

import { hash } from 'node:crypto'
import type { PlanContext } from './plan-story.ts'
import type { PlannedRefund } from './planned.ts'
import type { PaymentProvider, Story } from './stories.ts'

interface Refunded {
  readonly outTradeNo: string
  readonly amountMinor: number
  /** The transaction's number among the order's. */
  readonly n: number
}

/** The provider's id of a transaction's n-th refund, and the merchant's. */
export const refundIdsOf = (provider: PaymentProvider, transaction: string, n: number) => ({
  refundId: provider === 'stripe' ? `re_${transaction}-${n}` : `5030${digitsOf(`${transaction}-${n}`)}`,
  outRefundNo: `R${transaction}-${n}`,
})

/** WeChat Pay's ids are digits: 24 of them, the same for the same text. */
const digitsOf = (text: string) =>
  BigInt(`0x${hash('sha256', text, 'hex')}`)
    .toString()
    .slice(-24)

/** What goes back of a transaction, or fails to. All of it in one part or two; less of it in one part or two. */
export function planRefunds(
  story: Story,
  provider: PaymentProvider,
  { outTradeNo, amountMinor, n }: Refunded,
  startMs: number,
  { random, againMs }: PlanContext,
): PlannedRefund[] {
  const part = (index: number, amount: number, totalMinor: number, state: PlannedRefund['state']): PlannedRefund => ({
    ...refundIdsOf(provider, `${outTradeNo}-${n}`, index),
    ...{ amountMinor: amount, totalMinor, state },
    atMs: startMs + index * againMs + random.below(againMs),
  })
  if (story === 'refund_failed') {
    const state = provider === 'wechatpay' && random.chance(0.5) ? 'closed' : 'abnormal'
    return [part(1, amountMinor, 0, state)]
  }
  if (story !== 'refunded_partly' && story !== 'refunded_fully' && story !== 'refund_first') return []
  const isFull = story === 'refunded_fully' || (story === 'refund_first' && random.chance(0.5))
  const total = isFull ? amountMinor : 1 + random.below(amountMinor - 1)
  if (total < 2 || random.chance(0.5)) return [part(1, total, total, 'succeeded')]
  const first = 1 + random.below(total - 1)
  return [part(1, first, first, 'succeeded'), part(2, total - first, total, 'succeeded')]
}

import type { Random } from './random.ts'

/** Who takes payments. The prefix of a reference is its money system: WeChat Pay's two protocols share one. */
export const PAYMENT_PROVIDERS = ['wechatpay', 'wechatpay-v2', 'alipay', 'stripe', 'standard-webhooks'] as const
export type PaymentProvider = (typeof PAYMENT_PROVIDERS)[number]

/** How an order's life goes; the share of each is an option, and `paid` is what remains. */
export const STORIES = [
  /** Created, then paid. */
  'paid',
  /** Paid before it is created, or at the same instant. */
  'created_late',
  /** Paid, though nobody ever creates it. */
  'unknown',
  /** Paid with another amount than its own. */
  'wrong_amount',
  /** Paid twice, by two transactions. */
  'second_payment',
  /** All that comes for it is forged. */
  'forged',
  /** All that comes for it is signed too long ago. */
  'stale',
  /** All that comes for it is meant for another merchant. */
  'stranger',
  /** All that comes for it is signed with a key after its end. */
  'retired_key',
  /** All that comes for it has a body that is made to hurt a parser. */
  'hostile',
  /** All that comes for it are requests whose head never ends. */
  'slow_head',
  /** A probe with a deliberately wrong signature comes first. */
  'probed',
  /** Paid, then a part of it goes back, or two. */
  'refunded_partly',
  /** Paid, then all of it goes back, at once or in two parts. */
  'refunded_fully',
  /** The refund is heard of before its payment. */
  'refund_first',
  /** Paid, and a refund of it fails. */
  'refund_failed',
  /** Closed unpaid, by its provider or by its merchant. */
  'closed',
  /** Closed by its merchant, and paid all the same. */
  'late_success',
  /** A first attempt to pay fails. */
  'payment_failed',
  /** Paid, then disputed by the card's holder. */
  'disputed',
  /** Its provider also tells that the buyer has not paid yet. */
  'waiting',
  /** Its provider also tells that it can no longer be refunded. */
  'finished',
  /** Paid with others in one payment, of which one callback tells. */
  'combined',
] as const
export type Story = (typeof STORIES)[number]
export type StoryShares = Readonly<Record<Exclude<Story, 'paid'>, number>>
export type ProviderShares = Readonly<Record<PaymentProvider, number>>

/** Without `retired_key`: only a run during which keys are changed has one. Attacks on the server itself are asked for. */
export const STORY_SHARES: StoryShares = {
  ...{ created_late: 0.05, unknown: 0.02, wrong_amount: 0.02, second_payment: 0.02 },
  ...{ forged: 0.02, stale: 0.02, stranger: 0.01, retired_key: 0, hostile: 0, slow_head: 0, probed: 0.02 },
  ...{ refunded_partly: 0.03, refunded_fully: 0.03, refund_first: 0.02, refund_failed: 0.01 },
  ...{ closed: 0.02, late_success: 0.02, payment_failed: 0.01, disputed: 0.01 },
  ...{ waiting: 0.01, finished: 0.01, combined: 0.02 },
}
export const PROVIDER_SHARES: ProviderShares = {
  ...{ wechatpay: 0.35, 'wechatpay-v2': 0.1, alipay: 0.35, stripe: 0.15, 'standard-webhooks': 0.05 },
}

/** Stories that not every provider can tell: some sign no time or never probe, some have no word for it. */
const TOLD_BY: Partial<Record<Story, readonly PaymentProvider[]>> = {
  stale: ['wechatpay', 'stripe', 'standard-webhooks'],
  stranger: ['wechatpay', 'wechatpay-v2', 'alipay', 'stripe'],
  probed: ['wechatpay'],
  refund_failed: ['wechatpay', 'stripe', 'standard-webhooks'],
  payment_failed: ['stripe', 'standard-webhooks'],
  disputed: ['stripe', 'standard-webhooks'],
  waiting: ['alipay'],
  finished: ['alipay'],
  combined: ['wechatpay'],
}

export function drawStory(random: Random, shares: StoryShares): Story {
  let drawn = random.below(1_000_000) / 1_000_000
  for (const story of STORIES) {
    if (story === 'paid') continue
    drawn -= shares[story]
    if (drawn < 0) return story
  }
  return 'paid'
}

/** One of those that can tell the story, by their shares; undefined if none of them takes part. */
export function drawProvider(random: Random, story: Story, shares: ProviderShares): PaymentProvider | undefined {
  const able = (TOLD_BY[story] ?? PAYMENT_PROVIDERS).filter((provider) => shares[provider] > 0)
  let drawn = (random.below(1_000_000) / 1_000_000) * able.reduce((sum, provider) => sum + shares[provider], 0)
  return able.find((provider) => (drawn -= shares[provider]) < 0) ?? able.at(-1)
}

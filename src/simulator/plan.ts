import { randomOf, type Random } from './random.ts'

/** What a provider's side can do wrong, or an attacker on purpose. */
export type Defect = 'none' | 'wrong_signature' | 'stale_timestamp' | 'probe'

export type PaymentProvider = 'wechatpay' | 'alipay'

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
  /** A probe with a deliberately wrong signature comes first. */
  'probed',
] as const
export type Story = (typeof STORIES)[number]
export type Shares = Readonly<Record<Exclude<Story, 'paid'>, number>>

/** Copies of one callback sent at the same instant, each on a socket of its own. */
export interface Burst {
  readonly atMs: number
  readonly copies: number
  readonly defect: Defect
}

export interface PlannedCallback {
  readonly provider: PaymentProvider
  /** The provider's own id of the transaction. */
  readonly transactionId: string
  /** The provider's id of the notification, the same at each delivery. */
  readonly messageId: string
  readonly amountMinor: number
  readonly bursts: readonly Burst[]
}

export interface PlannedOrder {
  readonly merchant: string
  readonly outTradeNo: string
  readonly amountMinor: number
  readonly story: Story
  /** From the start of the run; 0: before anything is sent; null: never. */
  readonly createAtMs: number | null
  readonly callbacks: readonly PlannedCallback[]
  /** A worker reports the shipment this long after the payment was accepted; null: it does not. */
  readonly reportAfterMs: number | null
}

export interface PlanOptions {
  readonly seed: number
  /** Put before every number, so that two runs share nothing. At most 12 of A-Z, a-z, 0-9. */
  readonly runId: string
  readonly merchants: readonly [string, ...string[]]
  readonly orders: number
  readonly deliveriesPerOrder: number
  /** First deliveries are spread over this time. */
  readonly spreadMs: number
  /** A callback comes again up to this long after its first burst. */
  readonly againMs: number
  readonly shares?: Partial<Shares>
  readonly alipayShare?: number
  readonly reportShare?: number
}

export const SHARES: Shares = {
  created_late: 0.05,
  unknown: 0.02,
  wrong_amount: 0.02,
  second_payment: 0.02,
  forged: 0.02,
  stale: 0.02,
  probed: 0.02,
}

/** Everything that will be sent, and when; pure, and the same for the same options. */
export function planOf(options: PlanOptions): PlannedOrder[] {
  const random = randomOf(options.seed)
  const shares = { ...SHARES, ...options.shares }
  return Array.from({ length: options.orders }, (_, index) => planOrder(index, random, shares, options))
}

function planOrder(index: number, random: Random, shares: Shares, options: PlanOptions): PlannedOrder {
  const story = drawStory(random, shares)
  const outTradeNo = `${options.runId}-${String(index).padStart(6, '0')}`
  const amountMinor = 1 + random.below(100_000)
  const startMs = 1 + random.below(options.spreadMs)
  const callback = (n: number, atMs: number, amount: number): PlannedCallback => ({
    // Alipay signs no time, so nothing of it can be stale; nor does it probe.
    provider:
      story !== 'stale' && story !== 'probed' && random.chance(options.alipayShare ?? 0.5) ? 'alipay' : 'wechatpay',
    transactionId: `4200${outTradeNo}-${n}`,
    messageId: `n${random.hex(30)}`,
    amountMinor: amount,
    bursts: burstsOf(story, atMs, random, options),
  })
  const first = callback(1, startMs, story === 'wrong_amount' ? amountMinor + 1 : amountMinor)
  const second = () => callback(2, startMs + random.below(options.againMs), amountMinor)
  return {
    merchant: random.pick(options.merchants),
    outTradeNo,
    amountMinor,
    story,
    createAtMs:
      story === 'unknown'
        ? null
        : story === 'created_late'
          ? startMs + random.below(options.againMs) * random.below(2)
          : 0,
    callbacks: story === 'second_payment' ? [first, second()] : [first],
    reportAfterMs:
      ['paid', 'probed', 'second_payment'].includes(story) && random.chance(options.reportShare ?? 0)
        ? random.below(options.againMs)
        : null,
  }
}

/** More than half of the deliveries at once, the rest one or two at a time, later. */
function burstsOf(story: Story, startMs: number, random: Random, options: PlanOptions): Burst[] {
  const { deliveriesPerOrder, againMs } = options
  const defect: Defect = story === 'forged' ? 'wrong_signature' : story === 'stale' ? 'stale_timestamp' : 'none'
  const bursts: Burst[] = story === 'probed' ? [{ atMs: startMs, copies: 1, defect: 'probe' }] : []
  let left = deliveriesPerOrder - bursts.length
  for (let copies = Math.ceil(left * 0.6); left > 0; copies = Math.min(left, 1 + random.below(2))) {
    const isFirst = left === deliveriesPerOrder - (story === 'probed' ? 1 : 0)
    bursts.push({ atMs: isFirst ? startMs : startMs + 1 + random.below(againMs), copies, defect })
    left -= copies
  }
  return bursts
}

function drawStory(random: Random, shares: Shares): Story {
  let drawn = random.below(1_000_000) / 1_000_000
  for (const story of STORIES) {
    if (story === 'paid') continue
    drawn -= shares[story]
    if (drawn < 0) return story
  }
  return 'paid'
}

import { createHash } from 'node:crypto'
import type { PaymentProvider } from './stories.ts'

/** What can be wrong with an answer. */
export const QUERY_FAULTS = [
  /** After `slowMs`. */
  'slow',
  /** The connection ends without an answer, or in the middle of it. */
  'reset',
  'truncated',
  /** Answers of the provider's own, to a question that was right. */
  'wrong_signature',
  'probe',
  'rate_limited',
  'system_error',
  'not_found',
] as const
export type QueryFault = (typeof QUERY_FAULTS)[number]

export interface QueryFaultOptions {
  readonly shares: Readonly<Partial<Record<QueryFault, number>>>
  readonly seed: number
  readonly slowMs: number
}

/** Faults that not every provider's answers can have: Stripe signs none, and only WeChat Pay v3 probes. */
const ONLY: Readonly<Partial<Record<QueryFault, readonly PaymentProvider[]>>> = {
  wrong_signature: ['wechatpay', 'wechatpay-v2', 'alipay'],
  probe: ['wechatpay'],
}

/**
 * Which fault the next answer to a question has. It follows from the seed, the question, and how often it was asked,
 * so that a run has the same faults again whatever comes first.
 * @param question the same text whenever the same thing is asked
 */
export function createFaults({
  shares,
  seed,
}: QueryFaultOptions): (provider: PaymentProvider, question: string) => QueryFault | undefined {
  const counts = new Map<string, number>()
  return (provider, question) => {
    const name = `${provider}\n${question}`
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    const drawn = createHash('sha256').update(`${seed}\n${count}\n${name}`).digest().readUInt32BE(0) / 2 ** 32
    let upTo = 0
    const fault = QUERY_FAULTS.find((one) => drawn < (upTo += shares[one] ?? 0))
    return fault !== undefined && (ONLY[fault]?.includes(provider) ?? true) ? fault : undefined
  }
}

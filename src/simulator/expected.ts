import type { DeliveryLine, LogLine, OrderLine } from './log.ts'

/** An order by the names that the log has for it. */
export interface OrderRef {
  readonly merchant: string
  readonly outTradeNo: string
}

/** What must be true of the whole system, computed from what the senders sent and heard, and from nothing else. */
export interface Expected {
  /** Rightly paid: created, and a right payment of its amount was answered with success. It has its events once. */
  readonly paid: readonly OrderRef[]
  /** A right payment was sent and never answered with success, or the api's answer was not heard: it may have them. */
  readonly uncertain: readonly OrderRef[]
  /** Everything else that was named: unknown, wrongly paid, forged or stale only. It must have none. */
  readonly unpaid: readonly OrderRef[]
  /** Forged, stale or probing deliveries that were answered with success: each is a hole. */
  readonly wronglyAccepted: readonly DeliveryLine[]
}

interface Seen {
  order: OrderLine | undefined
  readonly deliveries: DeliveryLine[]
}

/** Judges a run by its log. */
export function expectedOf(lines: Iterable<LogLine>): Expected {
  const seen = new Map<string, Seen & OrderRef>()
  const of = ({ merchant, outTradeNo }: OrderRef) => {
    const key = `${merchant}/${outTradeNo}`
    const known = seen.get(key) ?? { merchant, outTradeNo, order: undefined, deliveries: [] }
    seen.set(key, known)
    return known
  }
  for (const line of lines) {
    if (line.line === 'delivery') of(line).deliveries.push(line)
    // Once created it stays so, whatever was heard when it was asked for again.
    if (line.line === 'order' && of(line).order?.heard !== 'created') of(line).order = line
  }
  const sorted = { paid: [] as OrderRef[], uncertain: [] as OrderRef[], unpaid: [] as OrderRef[] }
  for (const one of seen.values()) sorted[judge(one)].push({ merchant: one.merchant, outTradeNo: one.outTradeNo })
  const all = [...seen.values()].flatMap(({ deliveries }) => deliveries)
  return { ...sorted, wronglyAccepted: all.filter(({ defect, heard }) => defect !== 'none' && heard === 'success') }
}

function judge({ order, deliveries }: Seen): 'paid' | 'uncertain' | 'unpaid' {
  if (order === undefined || order.heard === 'refused') return 'unpaid'
  const right = deliveries.filter(
    ({ defect, amountMinor, currency }) =>
      defect === 'none' && amountMinor === order.amountMinor && currency === order.currency,
  )
  if (right.length === 0) return 'unpaid'
  return order.heard === 'created' && right.some(({ heard }) => heard === 'success') ? 'paid' : 'uncertain'
}

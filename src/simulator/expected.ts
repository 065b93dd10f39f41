import type { End } from './life-state.ts'
import type { LogLine, SentLine } from './log.ts'
import { ends } from './possible-ends.ts'
import { addMessage, timelineOf, type OrderRef, type Seen } from './timeline.ts'

/** What must be true of the whole system, computed from what the senders sent and heard, and from nothing else. */
export interface Expected {
  /** Rightly paid, whatever the order of arrival: workers hear of it (ship, deduct, grant), each once. */
  readonly paid: readonly OrderRef[]
  /** Paid in some orders of arrival only, or by what was not answered with success, or not heard to be created. */
  readonly uncertain: readonly OrderRef[]
  /** Everything else that was named: unknown, wrongly paid, closed, forged only. Workers must hear of no payment. */
  readonly unpaid: readonly OrderRef[]
  /** Every order with the ends that it may have. */
  readonly orders: readonly ExpectedOrder[]
  /** Forged, stale, cut off or probing deliveries that were answered with success: each is a hole. */
  readonly wronglyAccepted: readonly SentLine[]
  /** Deliveries with nothing wrong in them, answered with something else than success: each comes again. */
  readonly genuineRefused: readonly SentLine[]
}

export interface ExpectedOrder extends OrderRef {
  /** One, unless arrival order decides, or something was not answered; undefined: too many ways to tell. */
  readonly ends: readonly End[] | undefined
}

/** Judges a run by its log. */
export function expectedOf(lines: Iterable<LogLine>): Expected {
  const seen = new Map<string, Seen>()
  const sent: SentLine[] = []
  const of = ({ merchant, outTradeNo }: OrderRef) => {
    const key = `${merchant}/${outTradeNo}`
    const known: Seen = seen.get(key) ?? { merchant, outTradeNo, order: undefined, closes: [], messages: new Map() }
    seen.set(key, known)
    return known
  }
  for (const line of lines) {
    if (line.line === 'query') continue
    if (line.line === 'close') of(line).closes.push(line)
    // Once created it stays so, whatever was heard when it was asked for again.
    else if (line.line === 'order') of(line).order = of(line).order?.heard === 'created' ? of(line).order : line
    else {
      sent.push(line)
      of(line)
      if (line.defect === 'none') addMessage(line, of)
    }
  }
  const orders = [...seen.values()].map((one): ExpectedOrder & { fulfilled: Fulfilled } => {
    const { merchant, outTradeNo } = one
    const all = ends(timelineOf(one))
    return { merchant, outTradeNo, ends: all, fulfilled: fulfilledIn(all) }
  })
  const those = (fulfilled: Fulfilled) =>
    orders.flatMap((one) =>
      one.fulfilled === fulfilled ? [{ merchant: one.merchant, outTradeNo: one.outTradeNo }] : [],
    )
  return {
    ...{ paid: those('always'), uncertain: those('maybe'), unpaid: those('never') },
    orders: orders.map(({ merchant, outTradeNo, ends: all }) => ({ merchant, outTradeNo, ends: all })),
    wronglyAccepted: sent.filter(({ defect, heard }) => defect !== 'none' && heard === 'success'),
    genuineRefused: sent.filter(
      ({ defect, heard, isSlow }) =>
        defect === 'none' && isSlow !== true && (heard === 'failure' || heard === 'wrong_form'),
    ),
  }
}

type Fulfilled = 'always' | 'maybe' | 'never'

function fulfilledIn(all: readonly End[] | undefined): Fulfilled {
  if (all === undefined) return 'maybe'
  const fulfilled = all.filter(({ events }) => events['ship'] !== undefined).length
  return fulfilled === all.length ? 'always' : fulfilled === 0 ? 'never' : 'maybe'
}

import type { LogLine, OrderLine, SentLine } from './checker/capture.ts'

/** What the senders did, counted by their own log; shares are what the load was meant to have. */
export function loadMix(log: readonly LogLine[]) {
  const sent = log.filter((line): line is SentLine => 'requestSha256' in line)
  const orders = new Map(
    log.filter((line): line is OrderLine => line.line === 'order').map((line) => [nameOf(line), line]),
  )
  const genuine = sent.filter(({ defect }) => defect === 'none')
  const by = (...defects: readonly string[]) => sent.filter(({ defect }) => defects.includes(defect)).length
  const heard = (what: SentLine['heard']) => sent.filter((line) => line.heard === what).length
  const { duplicates, retries } = repeats(genuine)
  const named = Map.groupBy(genuine, nameOf)
  const share = (count: number, of: number) => (of === 0 ? 0 : Math.round((1_000 * count) / of) / 1_000)
  const unknown = [...named.keys()].filter((name) => !orders.has(name)).length
  const wrongAmount = [...named].filter(([name, lines]) => isWrong(orders.get(name), lines)).length
  const early = [...named].filter(([name, lines]) => isEarly(orders.get(name), lines)).length
  const forged = by('wrong_signature', 'stale_timestamp', 'stranger', 'retired_key')
  const hostile = by('hostile', 'slow_head')
  return {
    counts: {
      ...{
        orders: orders.size,
        deliveries: sent.length,
        genuine: genuine.length,
        duplicates,
        retries,
        forged,
        hostile,
      },
      ...{ probes: by('probe'), cutOff: by('cut_off'), slow: sent.filter(({ isSlow }) => isSlow === true).length },
      ...{ success: heard('success'), failure: heard('failure'), unknown: heard('no_answer') },
    },
    shares: {
      ...{ duplicates: share(duplicates, sent.length), forged: share(forged, sent.length) },
      ...{ hostile: share(hostile, sent.length), probes: share(by('probe'), sent.length) },
      ...{ reorderedOrders: share(early, named.size), unknownOrders: share(unknown, named.size) },
      wrongAmounts: share(wrongAmount, named.size),
    },
  }
}

const nameOf = ({ merchant, outTradeNo }: { merchant: string; outTradeNo: string }) => `${merchant}/${outTradeNo}`

/** A message once more: for want of a success answer, or though nobody had refused it. */
function repeats(genuine: readonly SentLine[]) {
  let [duplicates, retries] = [0, 0]
  for (const [, lines] of Map.groupBy(genuine, (line) => JSON.stringify(line.facts ?? line.outTradeNo)))
    for (const [n, line] of lines.toSorted((a, b) => a.atMs - b.atMs).entries()) {
      if (n === 0) continue
      const before = lines.filter((one) => one !== line && one.atMs + one.latencyMs <= line.atMs)
      if (before.length > 0 && before.every(({ heard }) => heard !== 'success')) retries += 1
      else duplicates += 1
    }
  return { duplicates, retries }
}

const factsOf = (lines: readonly SentLine[], kind: string) =>
  lines.flatMap(({ atMs, facts = [] }) =>
    facts.filter(({ eventType }) => eventType === kind).map((fact) => ({ ...fact, atMs })),
  )

const isWrong = (order: OrderLine | undefined, lines: readonly SentLine[]) =>
  order !== undefined &&
  factsOf(lines, 'payment_succeeded').some(
    (fact) => fact.outTradeNo === order.outTradeNo && fact.amountMinor !== order.amountMinor,
  )

/** Told before its order was asked for, or a refund before its payment. */
function isEarly(order: OrderLine | undefined, lines: readonly SentLine[]): boolean {
  const first = (facts: readonly { readonly atMs: number }[]) => Math.min(...facts.map(({ atMs }) => atMs))
  const refundMs = first(factsOf(lines, 'refund_succeeded'))
  return (order !== undefined && first(lines) <= order.atMs) || refundMs < first(factsOf(lines, 'payment_succeeded'))
}

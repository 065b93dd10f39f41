import { checkOf, type Attempt, type Check } from '../canonical.ts'
import type { DecodedFact } from '../avro.ts'
import type { Openssl } from '../openssl.ts'
import { nameOf, placeOf, type Oracle, type ReadCallback, type Reading, type Violation } from '../reading.ts'

/** O2: every record of the input is genuine, is what its sender sent, and says what its sender meant. */
export const genuine = (openssl: Openssl): Oracle => ({
  id: 'O2',
  about: 'what is in the input topic was sent, signed, and meant so; signatures by openssl',
  clauses: ['signature_invalid', 'forged_published', 'stranger_published', 'facts_differ', 'merchant_differs'],
  check: async (reading) => {
    const { callbacks, sentBy, merchants } = reading
    const violations: Violation[] = []
    const holdsAnswer = answersOf(reading)
    const unique = new Map<string, { read: ReadCallback; check: Check }>()
    for (const read of callbacks) {
      const { callback, requestSha256 } = read
      const name = `${callback.merchant} ${callback.provider} ${callback.source} ${requestSha256}`
      if (!unique.has(name)) unique.set(name, { read, check: checkOf(callback, merchants) })
      violations.push(
        ...(callback.source === 'query' ? holdsAnswer(read) : holds(read, sentBy.get(requestSha256) ?? [])),
      )
    }
    const attempts = [...unique.values()].flatMap(({ check }): readonly Attempt[] =>
      check.kind === 'signed' ? check.attempts : [],
    )
    const proven = await openssl.verify(attempts)
    for (const { read, check } of unique.values()) {
      const isRight =
        check.kind === 'signed'
          ? check.attempts.some((attempt) => proven.get(attempt) === true)
          : check.kind === 'unsigned' && (read.callback.facts.length === 0 || isStripesAnswer(read))
      const why = check.kind === 'broken' ? check.why : 'openssl refuses it'
      if (!isRight)
        violations.push({
          clause: 'signature_invalid',
          what: `${placeOf(read.record)} ${read.callback.provider}: ${why}`,
        })
    }
    return { examined: callbacks.length, violations }
  },
})

function holds(
  { record, callback }: ReadCallback,
  lines: readonly { defect: string; merchant: string; facts?: readonly (DecodedFact & { outTradeNo: string })[] }[],
): Violation[] {
  const place = placeOf(record)
  const [line] = lines
  if (line === undefined)
    return [{ clause: 'stranger_published', what: `${place} ${nameOf(callback)}: nobody sent it` }]
  const good = lines.find(({ defect }) => defect === 'none')
  if (good === undefined) return [{ clause: 'forged_published', what: `${place} ${nameOf(callback)}: ${line.defect}` }]
  if (good.merchant !== callback.merchant)
    return [
      { clause: 'merchant_differs', what: `${place}: sent to ${good.merchant}, published for ${callback.merchant}` },
    ]
  const meant = (good.facts ?? []).filter(({ outTradeNo }) => outTradeNo === callback.outTradeNo).map(say)
  const published = callback.facts.map(say)
  return meant.sort().join() === published.sort().join()
    ? []
    : [{ clause: 'facts_differ', what: `${place}: meant ${meant.join(' ')}, published ${published.join(' ')}` }]
}

const isStripesAnswer = ({ callback }: ReadCallback) => callback.source === 'query' && callback.provider === 'stripe'

/** What came of asking: somebody asked that provider before, and it says what callbacks say of the same thing. */
function answersOf({ log, sent }: Reading): (read: ReadCallback) => Violation[] {
  const firstMs = new Map<string, number>()
  for (const line of log)
    if (line.line === 'query' && line.status === 200)
      firstMs.set(line.provider, Math.min(line.atMs, firstMs.get(line.provider) ?? line.atMs))
  const told = new Map<string, { amountMinor: number; currency: string }>()
  const name = (merchant: string, outTradeNo: string | null, { eventType, providerRef }: DecodedFact) =>
    `${merchant}/${outTradeNo ?? ''} ${eventType} ${providerRef}`
  for (const { merchant, defect, facts = [] } of sent)
    if (defect === 'none') for (const fact of facts) told.set(name(merchant, fact.outTradeNo, fact), fact)
  return ({ record, callback }) => {
    const { provider, merchant, outTradeNo, receivedAtMs, facts } = callback
    const place = `${placeOf(record)} ${nameOf(callback)}`
    const askedMs = firstMs.get(provider)
    if (askedMs === undefined || askedMs > receivedAtMs)
      return [{ clause: 'stranger_published', what: `${place}: nobody had asked ${provider}` }]
    return facts.flatMap((fact) => {
      const other = told.get(name(merchant, outTradeNo, fact))
      return other === undefined || (other.amountMinor === fact.amountMinor && other.currency === fact.currency)
        ? []
        : [{ clause: 'facts_differ', what: `${place}: callbacks say ${other.amountMinor}, the answer ${say(fact)}` }]
    })
  }
}

const say = (fact: DecodedFact) =>
  [
    fact.eventType,
    fact.providerRef,
    fact.paymentRef,
    fact.amountMinor,
    fact.currency,
    fact.amountKind,
    fact.eventTimeMs,
  ].join('|')

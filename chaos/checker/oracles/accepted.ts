import { nameOf, type Oracle, type Violation } from '../reading.ts'

/** O1: a success answer means that the very bytes are in Kafka, for each order that they name. */
export const accepted: Oracle = {
  id: 'O1',
  about: 'what was answered with success is in the input topic',
  clauses: ['success_without_record'],
  check: ({ sent, callbacks }) => {
    const there = new Set<string>()
    for (const { callback, requestSha256 } of callbacks) {
      there.add(requestSha256)
      there.add(`${requestSha256} ${nameOf(callback)}`)
    }
    const heard = sent.filter(({ heard }) => heard === 'success')
    const violations = heard.flatMap((line): Violation[] => {
      const hash = line.requestSha256 ?? ''
      const orders = new Set(
        (line.facts ?? []).map(({ outTradeNo }) => nameOf({ merchant: line.merchant, outTradeNo })),
      )
      const missing = orders.size === 0 ? [hash] : [...orders].map((order) => `${hash} ${order}`)
      return missing
        .filter((name) => !there.has(name))
        .map((name) => ({
          clause: 'success_without_record',
          what: `${line.provider} ${nameOf(line)} at ${line.atMs}: ${name}`,
        }))
    })
    return { examined: heard.length, violations }
  },
}

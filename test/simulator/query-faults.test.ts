import { expect, test } from 'vitest'
import { createFaults, QUERY_FAULTS, type QueryFaultOptions } from '../../src/simulator/query-faults.ts'

const SEED = 77
const drawn = (shares: QueryFaultOptions['shares'], seed = SEED, asks = 4_000) => {
  const faultOf = createFaults({ shares, seed, slowMs: 1 })
  return Array.from({ length: asks }, (_, n) => faultOf('wechatpay', `/v3/${n % 1_000}`))
}

test('faults come in their shares, the same ones for the same seed, others for another', () => {
  const shares = Object.fromEntries(QUERY_FAULTS.map((fault) => [fault, 0.1]))
  const faults = drawn(shares)
  for (const fault of [...QUERY_FAULTS, undefined]) {
    const share = faults.filter((one) => one === fault).length / faults.length
    expect(share).toBeGreaterThan(fault === undefined ? 0.17 : 0.08)
    expect(share).toBeLessThan(fault === undefined ? 0.23 : 0.12)
  }
  expect(drawn(shares)).toEqual(faults)
  expect(drawn(shares, SEED + 1)).not.toEqual(faults)
  expect(new Set(drawn({}))).toEqual(new Set([undefined]))
  expect(new Set(drawn({ reset: 1 }))).toEqual(new Set(['reset']))
})

test('what comes first changes nothing: a question has the same faults, one after the other', () => {
  const options = { shares: { slow: 0.5 }, seed: SEED, slowMs: 1 }
  const questions = ['a', 'b', 'c']
  const [forth, back] = [createFaults(options), createFaults(options)]
  const inOrder = Object.fromEntries(questions.map((one) => [one, [1, 2, 3, 4].map(() => forth('alipay', one))]))
  const rounds = [1, 2, 3, 4].map(() => questions.toReversed().map((one) => [one, back('alipay', one)] as const))
  for (const one of questions)
    expect(rounds.map((round) => round.find(([name]) => name === one)?.[1])).toEqual(inOrder[one])
  expect(new Set(inOrder['a']).size + new Set(inOrder['b']).size + new Set(inOrder['c']).size).toBeGreaterThan(3)
})

test('no answer has a fault that its provider cannot have', () => {
  const faultOf = createFaults({ shares: { wrong_signature: 0.5, probe: 0.5 }, seed: SEED, slowMs: 1 })
  const of = (provider: 'stripe' | 'alipay') => new Set(Array.from({ length: 50 }, (_, n) => faultOf(provider, `${n}`)))
  expect(of('stripe')).toEqual(new Set([undefined]))
  expect(of('alipay')).toEqual(new Set([undefined, 'wrong_signature']))
})

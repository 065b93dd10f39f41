import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BillFinding } from '../../../src/reconcile/bill/finding.ts'
import { settleFindings, type Answered } from '../../../src/reconcile/bill/settle/settle-findings.ts'
import type { QueryClient } from '../../../src/providers/query.ts'
import { ask, createQueryWorld, type QueryWorld, type Told } from '../../helpers/query-world.ts'
import { printedRandom } from '../../helpers/seed.ts'

let world: QueryWorld
let url = ''
beforeAll(async () => {
  world = await createQueryWorld({ seed: printedRandom('settled').seed, orders: 200 })
  url = await world.serve()
})
afterAll(() => world.close())

const told = (provider: 'wechatpay' | 'alipay', event: 'payment' | 'refund') =>
  world.told(provider, event).filter(({ merchant }) => merchant === 'shop')
const findingOf = ({ callback: { transaction, refund } }: Told, more: Partial<BillFinding> = {}): BillFinding => {
  const paymentRef = `${transaction.provider}:${transaction.transactionId}`
  const side = { currency: 'CNY', status: 'SUCCESS', atMs: 0 }
  return {
    ...{ finding: 'missing_here', state: 'open', outTradeNo: transaction.outTradeNo, here: null, file: 0, line: 2 },
    ...(refund === null
      ? { what: 'payment', ref: paymentRef, paymentRef: null, askRef: null }
      : { what: 'refund', ref: `wechatpay:${refund.refundId}`, paymentRef, askRef: `refund:${refund.outRefundNo}` }),
    there: { ...side, amountMinor: (refund ?? transaction).amountMinor },
    detail: 'here',
    ...more,
  }
}
async function settled(findings: readonly BillFinding[], client: QueryClient | undefined) {
  const published: Answered[] = []
  const raised: BillFinding[] = []
  const publish = (answer: Answered) => {
    published.push(answer)
    return Promise.resolve()
  }
  const raise = (finding: BillFinding) => {
    raised.push(finding)
    return Promise.resolve(`bill_differs/${raised.length}`)
  }
  const found = await settleFindings(findings, { client, publish, raise, onProgress: () => undefined })
  return { found, states: found.map(({ state }) => state), published, raised: raised.map(({ finding }) => finding) }
}

test('a refund that failed here and that the provider says went through is published, and not called known', async () => {
  const [one] = told('wechatpay', 'refund')
  if (one === undefined) throw new Error('another seed')
  const amountMinor = one.callback.refund?.amountMinor ?? 0
  const here = { amountMinor, currency: 'CNY', status: 'refund_failed', atMs: 0 }
  const finding = findingOf(one, { finding: 'status_differs', here })
  const { states, published } = await settled([finding], world.client('wechatpay', 'shop', url))
  expect(states).toEqual(['published'])
  expect(published).toHaveLength(1)
})

test('what is held here stays open for a person, whatever the provider confirms', async () => {
  const [one] = told('wechatpay', 'payment')
  if (one === undefined) throw new Error('another seed')
  const { amountMinor } = one.callback.transaction
  const here = { amountMinor, currency: 'CNY', status: 'held', atMs: 0 }
  const known = { ...here, status: 'payment_succeeded' }
  const findings = [here, known].map((side) => findingOf(one, { finding: 'status_differs', here: side }))
  const { states, published } = await settled(findings, world.client('wechatpay', 'shop', url))
  expect(states).toEqual(['open', 'confirmed'])
  expect(published).toEqual([])
})

test('a person must look at what the provider denies, and at what nobody can be asked about, and at nothing else', async () => {
  const [one] = told('wechatpay', 'payment')
  if (one === undefined) throw new Error('another seed')
  const here = { amountMinor: one.callback.transaction.amountMinor, currency: 'CNY', status: 'held', atMs: 0 }
  const forged = { outTradeNo: 'forged', ref: 'wechatpay:4200009999' }
  const findings = [
    findingOf(one), // published: the lane knows what it is
    findingOf(one, { finding: 'status_differs', here }), // held here: its limit has its own anomaly
    findingOf(one, { finding: 'amount_differs', here: { ...here, status: 'payment_succeeded' } }), // confirmed
    findingOf(one, { ...forged, finding: 'not_there' }), // denied
    findingOf(one, { finding: 'twice_there' }), // nobody can be asked
    findingOf(one, { finding: 'refund_unsettled', what: 'refund', askRef: null }),
  ]
  const { found, raised } = await settled(findings, world.client('wechatpay', 'shop', url))
  expect(found.map(({ state, anomaly }) => [state, anomaly !== undefined])).toEqual([
    ...[['published', false], ['open', false], ['confirmed', false]], // prettier-ignore
    ...[['denied', true], ['open', true], ['open', true]], // prettier-ignore
  ])
  expect(new Set(raised)).toEqual(new Set(['not_there', 'twice_there', 'refund_unsettled']))
  // Who was not asked, may be: without keys nobody looks at what a question would settle.
  expect((await settled(findings, undefined)).raised).toEqual(['twice_there', 'refund_unsettled'])
})

test('many findings wait for their turn: our own limit of questions leaves none unasked', async () => {
  const some = told('wechatpay', 'payment')
  const payments = Array.from({ length: 30 }, (_, n) => some[n % some.length] as Told)
  const client = world.client('wechatpay', 'shop', url, { requestsPerSec: 10 })
  const { states, published } = await settled(
    payments.map((one) => findingOf(one)),
    client,
  )
  expect(states).toEqual(payments.map(() => 'published'))
  expect(published).toHaveLength(30)
}, 60_000)

test('of a provider that answers nobody not every finding is asked about', async () => {
  const [one] = told('wechatpay', 'payment')
  if (one === undefined) throw new Error('another seed')
  const away = await world.serve('reset')
  const asked = () => world.asked.filter(({ fault }) => fault === 'reset').length
  const many = Array.from({ length: 200 }, () => findingOf(one))
  const { states, found } = await settled(many, world.client('wechatpay', 'shop', away))
  expect(new Set(states)).toEqual(new Set(['unconfirmed']))
  expect(found.at(-1)?.detail).toBe('here; the provider was not asked: it did not answer about those before')
  expect(asked()).toBeLessThan(200 * 4)
}, 120_000)

test('what cannot be published ends all asking', async () => {
  const [one] = told('wechatpay', 'payment')
  if (one === undefined) throw new Error('another seed')
  const forged = { ...findingOf(one), outTradeNo: 'forged', ref: 'wechatpay:4200009999' }
  const findings = [findingOf(one), ...Array.from({ length: 200 }, () => forged)]
  const client = world.client('wechatpay', 'shop', url)
  const before = world.asked.length
  const publish = () => Promise.reject(new Error('Kafka is away'))
  const end = settleFindings(findings, { client, publish, raise: publish, onProgress: () => undefined })
  await expect(end).rejects.toThrow('Kafka is away')
  expect(world.asked.length - before).toBeLessThan(findings.length / 2)
  // After that nobody but us asks; what was on its way then may still arrive.
  const after = world.asked.length
  for (let n = 0; n < 20; n++) await ask(client, { kind: 'payment', outTradeNo: 'forged' })
  expect(world.asked.length - after).toBeLessThan(20 + 8)
})

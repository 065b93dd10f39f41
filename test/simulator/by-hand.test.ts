import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signerByHand } from '../../dev/simulate/by-hand.ts'
import { optionsIn } from '../../dev/simulate/options.ts'
import { loadMerchants } from '../../src/providers/merchants.ts'
import { createKeys } from '../../src/simulator/create-keys.ts'
import type { SenderKeys } from '../../src/simulator/keys.ts'

const directory = mkdtempSync(join(tmpdir(), 'by-hand-'))
let made: SenderKeys[] = []
beforeAll(async () => {
  made = await createKeys({ merchantsDir: directory, sendersDir: join(directory, 'senders') }, ['shop'], new Date())
})
afterAll(() => rmSync(directory, { recursive: true }))

/** What the gateway reads in what the command line sends. */
function heard(...args: string[]) {
  const [options, keys] = [optionsIn(args), made[0]]
  const signer = options && keys && signerByHand(options, keys)
  if (signer === undefined) throw new Error('no such verb')
  const { headers, rawBody } = signer.sign()
  return loadMerchants(directory)
    .find(signer.sender, 'shop')
    ?.verify({ headers, repeatedHeaders: [], rawBody }, new Date())
}
const kindsOf = (verdict: ReturnType<typeof heard>) =>
  verdict?.kind === 'verified'
    ? verdict.messages.flatMap(({ facts }) => facts.map(({ eventType }) => eventType)).join()
    : JSON.stringify(verdict)

test.for([
  ...['wechatpay', 'wechatpay-v2', 'alipay', 'stripe', 'standard-webhooks'].map((of) => [
    'pay',
    of,
    'payment_succeeded',
  ]),
  ...['wechatpay', 'stripe', 'standard-webhooks'].map((of) => ['refund', of, 'refund_succeeded']),
  ...['wechatpay', 'stripe', 'standard-webhooks'].map((of) => ['refund-fail', of, 'refund_failed']),
  ...['stripe', 'standard-webhooks'].flatMap((of) => [
    ['fail', of, 'payment_failed'],
    ['dispute', of, 'disputed'],
  ]),
  ...[
    ['refund', 'alipay', 'refund_succeeded,payment_succeeded'],
    ['refund', 'wechatpay-v2', ''],
    ['wait', 'alipay', ''],
    ['finish', 'alipay', 'payment_succeeded'],
    ['close', 'alipay', 'provider_closed'],
    ['ship', 'stripe', 'shipment_completed'],
    ['return', 'wechatpay', 'goods_returned'],
    ['short', 'wechatpay', 'fulfillment_failed'],
  ],
] as [string, string, string][])('%s of %s proves %s', ([verb, provider, kinds]) =>
  expect(kindsOf(heard(verb, 'A-1', '--provider', provider))).toBe(kinds),
)

test('what is forged is refused, and a word that a provider does not have is said', () => {
  expect(heard('pay', 'A-1', '--forge')).toMatchObject({ rejection: { kind: 'bad_signature' } })
  expect(() => heard('dispute', 'A-1')).toThrow('WeChat Pay has no word for dispute')
  expect(() => heard('dance', 'A-1')).toThrow('no such verb')
})

test('two refunds by hand are two, and their sum is told', () => {
  const facts = (...more: string[]) => {
    const verdict = heard('refund', 'A-1', '--provider', 'alipay', ...more)
    return verdict?.kind === 'verified' ? verdict.messages[0].facts[0] : undefined
  }
  expect(facts('--refund-minor', '100')).toMatchObject({ providerRef: 'alipay:2026A-1-1/refunded/100' })
  expect(facts('--refund-minor', '50', '--refunded-minor', '150')).toMatchObject({ amountMinor: 150 })
})

import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadMerchants } from '../../src/providers/merchants.ts'
import { BadConfiguration } from '../../src/runtime/config.ts'
import { createKeys, loadKeys, type SenderKeys } from '../../src/simulator/keys.ts'
import type { Defect } from '../../src/simulator/plan.ts'
import { isSuccess, signPayment, type Payment } from '../../src/simulator/sign-payment.ts'
import { signShipmentReport } from '../../src/simulator/sign-report.ts'

const NOW = new Date('2026-03-04T05:06:07Z')
const directory = mkdtempSync(join(tmpdir(), 'keys-'))
const where = { merchantsDir: join(directory, 'merchants'), sendersDir: join(directory, 'senders') }
let made: SenderKeys[] = []
beforeAll(async () => {
  made = await createKeys(where, ['shop', 'books'], NOW)
})
afterAll(() => rmSync(directory, { recursive: true }))

const payment = (provider: 'wechatpay' | 'alipay', over: Partial<Payment> = {}): Payment => ({
  ...{
    provider,
    outTradeNo: 'T-000001',
    transactionId: '4200T-000001-1',
    messageId: 'n0',
    amountMinor: 5,
    paidAt: NOW,
  },
  ...over,
})
const verify = (provider: string, merchant: string, { headers, rawBody }: { headers: object; rawBody: Buffer }) => {
  const bound = loadMerchants(where.merchantsDir).find(provider, merchant)
  return bound?.verify({ headers: headers as Record<string, string>, repeatedHeaders: [], rawBody }, NOW)
}

test('the gateway reads what was written, and another process the senders’ side', () => {
  expect(loadMerchants(where.merchantsDir).names).toEqual(['books', 'shop'])
  expect(loadKeys(where.sendersDir)).toEqual(made)
  expect(() => loadKeys(directory)).toThrow(BadConfiguration)
  for (const file of readdirSync(where.merchantsDir))
    expect(readFileSync(join(where.merchantsDir, file), 'utf8')).not.toContain('PRIVATE KEY')
})

test('the certificate that is made is one that OpenSSL reads and verifies', () => {
  const certificate = new X509Certificate(readFileSync(join(where.merchantsDir, 'shop.wechatpay.crt')))
  expect(certificate.verify(certificate.publicKey)).toBe(true)
  expect(certificate.serialNumber).toBe(made[0]?.platforms[0]?.serial)
  expect(certificate.subject).toBe('CN=Tenpay.com')
  expect(certificate.validFromDate).toEqual(NOW)
  expect(certificate.validToDate.getUTCFullYear()).toBe(2031)
})

test.for(['shop', 'books'])('every sender of %s is understood, under every key', (merchant) => {
  const keys = made.find((one) => one.merchant === merchant)
  if (keys === undefined) throw new Error('no keys')
  for (const platform of keys.platforms) {
    const signed = signPayment(payment('wechatpay'), { ...keys, platforms: [platform] }, 'none', NOW)
    expect(signed).toMatchObject({ path: `/callbacks/wechatpay/${merchant}` })
    expect(verify('wechatpay', merchant, signed)).toMatchObject({
      messages: [
        {
          outTradeNo: 'T-000001',
          facts: [{ providerRef: 'wechatpay:4200T-000001-1', amountMinor: 5, eventTimeMs: NOW.getTime() }],
        },
      ],
    })
    expect(verify('wechatpay', merchant === 'shop' ? 'books' : 'shop', signed)?.kind).toBe('refused')
  }
  for (const [amountMinor, over] of [
    [5, {}],
    [12, {}],
    [123456, {}],
  ] as const) {
    const signed = signPayment(payment('alipay', { amountMinor, ...over }), keys, 'none', NOW)
    expect(verify('alipay', merchant, signed)).toMatchObject({
      messages: [
        {
          outTradeNo: 'T-000001',
          facts: [{ providerRef: 'alipay:4200T-000001-1', amountMinor, eventTimeMs: NOW.getTime() }],
        },
      ],
    })
  }
  const report = signShipmentReport('T-000001', 'wechatpay:4200T-000001-1', keys, NOW)
  expect(verify('worker', merchant, report)).toMatchObject({
    messages: [{ facts: [{ eventType: 'shipment_completed', providerRef: 'worker:ship-T-000001' }] }],
  })
})

test.for<['wechatpay' | 'alipay', Defect, string]>([
  ['wechatpay', 'wrong_signature', 'bad_signature'],
  ['wechatpay', 'stale_timestamp', 'stale'],
  ['wechatpay', 'probe', 'signature_probe'],
  ['alipay', 'wrong_signature', 'bad_signature'],
])('%s with a %s is refused as %s', ([provider, defect, kind]) => {
  const [keys] = made
  if (keys === undefined) throw new Error('no keys')
  expect(verify(provider, 'shop', signPayment(payment(provider), keys, defect, NOW))).toMatchObject({
    rejection: { kind },
  })
})

test('only the exact answer is success', () => {
  expect(isSuccess('alipay', 200, 'text/plain; charset=utf-8', 'success')).toBe(true)
  for (const [status, type, body] of [
    [204, 'text/plain', 'success'],
    [200, 'text/html', 'success'],
    [200, 'text/plain', 'success\n'],
    [200, 'text/plain', '\ufeffsuccess'],
    [200, 'text/plain', ''],
  ] as const)
    expect(isSuccess('alipay', status, type, body)).toBe(false)
})

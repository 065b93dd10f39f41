import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signNotice } from '../../src/providers/alipay/sign.ts'
import { webhookSecret } from '../../src/providers/standard-webhooks/keys.ts'
import { signWebhook } from '../../src/providers/standard-webhooks/sign.ts'
import { apiKey } from '../../src/providers/wechatpay-v2/api-key.ts'
import { paymentFields, refundNotice } from '../../src/providers/wechatpay-v2/compose.ts'
import { sealRefund, signPayment } from '../../src/providers/wechatpay-v2/sign.ts'
import { notice } from '../helpers/merchant.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

const AT = new Date('2026-01-02T03:04:05Z')
const V2_KEY = '0123456789abcdef0123456789ABCDEF'
const APIV3_KEY = 'fedcba9876543210fedcba9876543210'
const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const PARTY = { mchid: '1900000001', appid: 'wx0000000000000001' }
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })

let dir = ''
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'verify-'))
  const file = (name: string, content: string) => {
    writeFileSync(join(dir, name), content)
    return name
  }
  const pem = file('rsa.pem', rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString())
  const mapping = { type: '/type', outTradeNo: '/no', ignore: ['ping'], rules: [rule] }
  const [mchid, appids] = [PARTY.mchid, [PARTY.appid]]
  const sections = {
    wechatpay: {
      ...{ mchid, appids, apiV3KeyFiles: [file('apiv3.key', APIV3_KEY)] },
      publicKeys: [{ publicKeyId: 'PUB_KEY_ID_01', publicKeyFile: pem }],
    },
    'wechatpay-v2': { mchid, appids, apiKeyFiles: [file('v2.key', V2_KEY)] },
    alipay: { appIds: ['2021000000000001'], sellerIds: ['2088000000000001'], publicKeyFiles: [pem] },
    'standard-webhooks': {
      ...{ keyFiles: [file('webhooks.key', WEBHOOK_SECRET)] },
      mappingFile: file('webhooks.mapping', JSON.stringify(mapping)),
    },
  }
  file('shop1.json', JSON.stringify(sections))
})
afterAll(() => rmSync(dir, { recursive: true }))
const rule = { when: 'failed', fact: 'payment_failed', reference: '/no', eventTime: 'webhook-timestamp' }

interface Request {
  readonly headers: Readonly<Record<string, string>>
  readonly rawBody: Buffer
}
function saved(provider: string, { headers, rawBody }: Request, more: Record<string, string> = {}): string {
  const file = join(dir, 'request.http')
  const lines = Object.entries({ ...headers, ...more }).map(([name, value]) => `${name}: ${value}`)
  const head = [`POST /callbacks/${provider}/shop1 HTTP/1.1`, ...lines, '', ''].join('\r\n')
  writeFileSync(file, Buffer.concat([Buffer.from(head), rawBody]))
  return file
}
const run = (verb: string, file: string) =>
  paidonce(['callback', verb, file, '--at', AT.toISOString()], { MERCHANTS_DIR: dir })
const runJson = (verb: string, file: string) =>
  paidonceJson(['callback', verb, file, '--at', AT.toISOString()], { MERCHANTS_DIR: dir })

const order = { outTradeNo: 'T1', transactionId: '4200001', totalFen: 100 }
const webhook = (body: object) => {
  const key = webhookSecret(WEBHOOK_SECRET)
  if (key === undefined) throw new Error('no secret')
  return signWebhook(body, 'msg_1', [key], AT)
}

test('a v2 refund notice, which nobody signed, is not called verified: it proves nothing and asks for a query', async () => {
  const { envelope, refund } = refundNotice(PARTY, {
    ...{ ...order, outRefundNo: 'R-1', refundId: '5000001', refundFen: 100, status: 'SUCCESS', at: AT },
  })
  const file = saved('wechatpay-v2', sealRefund(envelope, refund, apiKey(V2_KEY)))
  const { code, stdout } = await run('verify', file)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^not refused, and not verified: an unsigned hint: proves nothing, asks for a query\n/)
  expect(stdout).toContain('refund:R-1')
  expect(stdout).not.toMatch(/^verified|not mapped/m)
  const explained = await run('explain', file)
  expect([explained.code, explained.stdout]).toEqual([
    0,
    expect.stringMatching(/^verdict +not refused, and not verified: an unsigned hint/),
  ])
  for (const verb of ['verify', 'explain'])
    expect(await runJson(verb, file)).toMatchObject({
      json: { says: expect.stringContaining('proves nothing') as string },
    })
})

test('what is signed and changes nothing says so; what is not mapped, too', async () => {
  const waiting = { ...notice('T1', AT), trade_status: 'WAIT_BUYER_PAY' }
  const rows: [string, Request, string][] = [
    ['alipay', signNotice(waiting, rsa.privateKey), 'changes nothing'],
    ['standard-webhooks', webhook({ type: 'ping' }), 'changes nothing'],
    ['standard-webhooks', webhook({ type: 'other', no: 'T1' }), '(kind not mapped)'],
    ['standard-webhooks', webhook({ type: 'failed', no: 'T1' }), 'payment_failed'],
  ]
  for (const [provider, request, says] of rows) {
    const { code, stdout } = await run('verify', saved(provider, request))
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^verified\n/)])
    expect(stdout).toContain(says)
  }
})

test('a secret that somebody pasted into the request is not printed', async () => {
  const { headers, rawBody } = webhook({ type: 'failed', no: V2_KEY, [V2_KEY]: V2_KEY })
  const v3 = {
    headers: {
      ...{ 'wechatpay-timestamp': String(AT.getTime() / 1_000), 'wechatpay-nonce': 'n'.repeat(32) },
      ...{ 'wechatpay-signature': 'AAAA', 'wechatpay-serial': APIV3_KEY },
    },
    rawBody: Buffer.from('{}'),
  }
  const payment = { ...paymentFields(PARTY, { ...order, paidAt: AT }), out_trade_no: V2_KEY }
  const requests: [string, Request, code: number][] = [
    ['wechatpay', v3, 1],
    ['standard-webhooks', { headers, rawBody }, 0],
    ['wechatpay-v2', signPayment(payment, apiKey(V2_KEY)), 0],
  ]
  for (const [provider, request, code] of requests)
    for (const { code: found, stdout, stderr } of [
      await run('verify', saved(provider, request)),
      await paidonce(['callback', 'verify', saved(provider, request), '--at', AT.toISOString(), '--output', 'json'], {
        MERCHANTS_DIR: dir,
      }),
    ]) {
      expect([found, stderr]).toEqual([code, ''])
      expect(stdout).toContain('[secret]')
      for (const secret of [V2_KEY, APIV3_KEY, WEBHOOK_SECRET]) expect(stdout).not.toContain(secret.slice(0, 20))
    }
})

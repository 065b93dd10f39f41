import { execFileSync } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AlipaySdk } from 'alipay-sdk'
import Stripe from 'stripe'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Formatter, Hash, Rsa } from 'wechatpay-axios-plugin'
import { rootCertSn } from '../../../src/providers/alipay/query-config.ts'
import { openAnswer, verifyAnswer } from '../../../src/providers/alipay/signed-answer.ts'
import { signRequest } from '../../../src/providers/alipay/sign-request.ts'
import { signAnswer } from '../../../src/providers/alipay/sign.ts'
import { createAgents, createQueryHttp } from '../../../src/providers/query-http.ts'
import { createRateLimit } from '../../../src/providers/rate-limit.ts'
import { createStripeQuery } from '../../../src/providers/stripe/query.ts'
import { apiKey } from '../../../src/providers/wechatpay-v2/api-key.ts'
import { parseFlatXml } from '../../../src/providers/wechatpay-v2/parse-flat-xml.ts'
import { createWechatpayV2Query } from '../../../src/providers/wechatpay-v2/query.ts'
import { authorize } from '../../../src/providers/wechatpay/authorize.ts'
import { createWechatpayQuery } from '../../../src/providers/wechatpay/query.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { selfSigned } from '../../../src/simulator/certificate.ts'
import { otherPrivateKey, platform, platformPrivateKey } from '../vectors.ts'

const NOW = new Date('2026-03-04T05:06:07Z')
const directory = mkdtempSync(join(tmpdir(), 'query-agreement-'))
interface Heard {
  readonly request: IncomingMessage
  readonly body: string
}
const heard: Heard[] = []
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    heard.push({ request, body: Buffer.concat(chunks).toString() })
    response.writeHead(404, { 'content-type': 'application/json' }).end('{}')
  })
})
let port = 0
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.close()
  server.closeAllConnections()
  rmSync(directory, { recursive: true })
})
const last = () => {
  const one = heard.at(-1)
  if (one === undefined) throw new Error('nothing was asked')
  return one
}
const means = () => ({
  clock: systemClock,
  limit: createRateLimit(1_000, systemClock),
  http: createQueryHttp({
    ...{ baseUrl: new URL(`http://127.0.0.1:${port}`), timeoutMs: 5_000, bodyBytesMax: 1_000, agents: createAgents() },
  }),
})
const never = new AbortController().signal

describe('WeChat Pay v3', () => {
  const caller = { mchid: '1900000001', serial: 'ABC', privateKey: otherPrivateKey }
  const publicKey = createPublicKey(otherPrivateKey).export({ type: 'spki', format: 'pem' }).toString()
  const fieldsOf = (authorization: string) =>
    Object.fromEntries(
      [...authorization.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    )

  test('OpenSSL verifies what a request that was really sent is signed with', async () => {
    const recipient = {
      mchid: '1900000001',
      appids: new Set<string>(),
      subMchids: new Set<string>(),
      subAppids: new Set<string>(),
    }
    const config = { recipient, subMchid: undefined, platformKeys: new Map(), certificate: caller }
    await createWechatpayQuery(config, means()).ask({ kind: 'payment', outTradeNo: 'T 1/订*|' }, never)
    const { request } = last()
    const authorization = request.headers.authorization ?? ''
    expect(authorization).toMatch(/^WECHATPAY2-SHA256-RSA2048 mchid="1900000001",nonce_str="[0-9a-f]{32}",signature="/)
    const fields = fieldsOf(authorization)
    // What went over the wire, and not what we believe to have sent.
    const message = `GET\n${request.url}\n${fields['timestamp']}\n${fields['nonce_str']}\n\n`
    writeFileSync(join(directory, 'message'), message)
    writeFileSync(join(directory, 'signature'), Buffer.from(fields['signature'] ?? '', 'base64'))
    writeFileSync(join(directory, 'key'), publicKey)
    const openssl = () =>
      execFileSync('openssl', ['dgst', '-sha256', '-verify', 'key', '-signature', 'signature', 'message'], {
        ...{ cwd: directory, encoding: 'utf8', stdio: 'pipe' },
      })
    expect(openssl()).toBe('Verified OK\n')
    writeFileSync(join(directory, 'message'), `${message}\n`)
    expect(openssl).toThrow()
  })

  test('wechatpay-axios-plugin signs the same, to the byte', () => {
    const request = { method: 'GET', path: '/v3/pay/transactions/id/42?mchid=1900000001' }
    const ours = fieldsOf(authorize(request, caller, NOW, 'nonce'))
    const timestamp = String(NOW.getTime() / 1_000)
    const message = Formatter.request(request.method, request.path, timestamp, 'nonce')
    const pem = otherPrivateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    expect(ours['signature']).toBe(Rsa.sign(message, pem))
    const theirs = Formatter.authorization('1900000001', 'nonce', ours['signature'] ?? '', timestamp, 'ABC')
    expect(ours).toEqual(fieldsOf(theirs))
  })
})

test('WeChat Pay v2: wechatpay-axios-plugin makes the same signature of what was sent', async () => {
  const secret = 'exposed_your_key_here_have_risks'
  const merchant = {
    ...{ mchid: '1900000001', appids: new Set(['wx0']), subMchids: new Set<string>(), subAppids: new Set<string>() },
    ...{ apiKeys: [apiKey(secret)], signTypes: new Set(['HMAC-SHA256', 'MD5'] as const) },
  }
  for (const signType of ['HMAC-SHA256', 'MD5'] as const) {
    const config = { merchant, appid: 'wx0', subMchid: undefined, signType }
    await createWechatpayV2Query(config, means()).ask({ kind: 'payment', outTradeNo: 'T&1=<2>' }, never)
    const fields = parseFlatXml(Buffer.from(last().body), 'xml')
    if (typeof fields === 'string') throw new Error(fields)
    const { sign: ours, ...rest } = Object.fromEntries(fields)
    expect(rest).toMatchObject({ out_trade_no: 'T&1=<2>', mch_id: '1900000001', appid: 'wx0', sign_type: signType })
    expect(ours).toBe(Hash.sign(signType, rest, secret))
  }
})

describe('Alipay', () => {
  const app = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const pem = app.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const appId = '2021000000000001'
  const alipayPublicKey = createPublicKey(platformPrivateKey).export({ type: 'spki', format: 'der' }).toString('base64')
  const sdk = new AlipaySdk({ appId, privateKey: pem, keyType: 'PKCS8', alipayPublicKey })
  const keys = [{ id: '0', certSn: null, key: createPublicKey(platformPrivateKey), validToMs: Infinity }]
  const parameters = (text: string) => Object.fromEntries(new URLSearchParams(text))

  test('alipay-sdk signs the same question with the same signature', () => {
    const content = { out_trade_no: 'T1+&=订单', query_options: ['gmt_refund_pay'] }
    const theirs = parameters(sdk.sdkExecute('alipay.trade.query', { bizContent: content }))
    // It writes the time of its own zone; with that time and its version of the format, one text is signed.
    const { sign: theirSign, timestamp = '', ...rest } = theirs
    const signed = Object.entries({ ...rest, timestamp }).sort(([a], [b]) => (a < b ? -1 : 1))
    const at = new Date(`${timestamp.replace(' ', 'T')}+08:00`)
    const { path, body } = signRequest('alipay.trade.query', content, { appId, privateKey: app.privateKey }, at)
    const ours = parameters(`${path.split('?')[1]}&${body}`)
    expect(ours['biz_content']).toBe(rest['biz_content'])
    expect(ours['timestamp']).toBe(timestamp)
    const { sign: ourSign, ...named } = ours
    const extra = Object.keys(named).filter((name) => !(name in theirs))
    const text = [...signed, ...extra.map((name): [string, string] => [name, named[name] ?? ''])]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => `${name}=${value}`)
      .join('&')
    expect(ourSign).toBe(sign('RSA-SHA256', Buffer.from(text), app.privateKey).toString('base64'))
    if (extra.length === 0) expect(ourSign).toBe(theirSign)
    expect(extra.filter((name) => name !== 'format')).toEqual([])
  })

  test('alipay-sdk and we agree on which answers are Alipay’s', () => {
    const answer = { code: '10000', msg: 'Success', out_trade_no: 'T1', buyer: '张三', note: 'a"}, "sign":"x' }
    const good = signAnswer('alipay.trade.query', answer, platformPrivateKey)
    const slashes = (text: string) => {
      const inner = text.slice(text.indexOf(':') + 1, text.lastIndexOf(',"sign"')).replace('Success', 'a\\/b')
      const signature = sign('RSA-SHA256', Buffer.from(inner), platformPrivateKey).toString('base64')
      return `{"alipay_trade_query_response":${inner},"sign":"${signature}"}`
    }
    const bodies: readonly (readonly [string, boolean])[] = [
      [good, true],
      [slashes(good), true],
      [good.replace('10000', '10001'), false],
      [good.replace('张三', '李四'), false],
      [signAnswer('alipay.trade.query', answer, otherPrivateKey), false],
    ]
    for (const [body, wanted] of bodies) {
      const opened = openAnswer(Buffer.from(body), 'alipay.trade.query')
      expect(opened !== undefined && verifyAnswer(opened, keys, NOW) === undefined).toBe(wanted)
      const { sign: given } = JSON.parse(body) as { sign: string }
      const theirs = () => {
        sdk.checkResponseSign(body, 'alipay_trade_query_response', given, '')
      }
      if (wanted) expect(theirs).not.toThrow()
      else expect(theirs).toThrow()
    }
  })

  test('its certificates’ numbers are those that alipay-sdk sends', () => {
    const certificate = (name: string) =>
      selfSigned(app.privateKey, name, Buffer.from('0123456789012345678a'.repeat(1)), NOW, new Date('2036-01-01'))
    const bundle = `${certificate('Root One')}\n${platform.wechatPayCertificatePem}\n${certificate('Root Two')}`
    const [one, two] = ['app.crt', 'root.crt'].map((name) => join(directory, name)) as [string, string]
    writeFileSync(one, certificate('App'))
    writeFileSync(two, bundle)
    const theirs = new AlipaySdk({
      ...{ appId, privateKey: pem, keyType: 'PKCS8', appCertPath: one, alipayRootCertPath: two },
      alipayPublicCertContent: certificate('Alipay'),
    })
    expect(rootCertSn(bundle)).toBe(theirs.config.alipayRootCertSn)
    expect(rootCertSn(bundle).split('_')).toHaveLength(3)
  })
})

test('Stripe’s own library asks by the same addresses, with the same key and version', async () => {
  const apiVersion = '2025-09-30.clover'
  const sdk = new Stripe('sk_test_shop', {
    ...{ host: '127.0.0.1', port, protocol: 'http', maxNetworkRetries: 0, telemetry: false },
    apiVersion: apiVersion as never,
    stripeAccount: 'acct_1',
  })
  const theirs = async (call: Promise<unknown>) => {
    await call.catch(() => undefined)
    return asked(last())
  }
  const asked = ({ request }: Heard) => {
    const url = new URL(request.url ?? '', 'http://stripe')
    // `expand[0]` and `expand[]` are one list to Stripe.
    const query = [...url.searchParams].map(([name, value]) => [name.replace(/\[\d*\]$/, '[]'), value]).sort()
    const { authorization, 'stripe-version': version, 'stripe-account': account } = request.headers
    return { method: request.method, path: url.pathname, query, authorization, version, account }
  }
  const merchant = {
    ...{ secrets: [], livemode: true, accounts: new Set<string>(), recipient: [] },
    outTradeNo: [{ text: 'metadata.out_trade_no', tokens: ['metadata', 'out_trade_no'] }],
  }
  const config = { secretKey: 'sk_test_shop', account: 'acct_1', merchant, metadataKeys: ['out_trade_no'] }
  const client = createStripeQuery(config, means())
  const ours = async (transactionId?: string) => {
    const target = { kind: 'payment', outTradeNo: "T'1\\" } as const
    await client.ask(transactionId === undefined ? target : { ...target, transactionId }, never)
    return asked(last())
  }
  const query = String.raw`metadata['out_trade_no']:'T\'1\\'`
  expect(await ours()).toEqual(
    await theirs(sdk.paymentIntents.search({ query, limit: 20, expand: ['data.latest_charge'] })),
  )
  expect(await ours('pi_1')).toEqual(await theirs(sdk.paymentIntents.retrieve('pi_1', { expand: ['latest_charge'] })))
})

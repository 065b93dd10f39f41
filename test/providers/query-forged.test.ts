import { generateKeyPairSync } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { signAnswer } from '../../src/providers/alipay/sign.ts'
import type { QueryTarget } from '../../src/providers/query.ts'
import { apiKey } from '../../src/providers/wechatpay-v2/api-key.ts'
import { parseFlatXml } from '../../src/providers/wechatpay-v2/parse-flat-xml.ts'
import { signFields, xmlRequest } from '../../src/providers/wechatpay-v2/sign.ts'
import { signRequest } from '../../src/providers/wechatpay/sign.ts'
import type { PaymentProvider } from '../../src/simulator/stories.ts'
import { standBetween, type Between, type Passing } from '../helpers/query-between.ts'
import { ask, createQueryWorld, type QueryWorld, type Told } from '../helpers/query-world.ts'

const attacker = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
let world: QueryWorld
let between: Between
beforeAll(async () => {
  world = await createQueryWorld({ seed: 5, orders: 120 })
  between = await standBetween(await world.serve())
}, 120_000)
afterAll(async () => {
  await between.close()
  await world.close()
})
const unchanged = (answer: Passing) => answer
afterEach(() => {
  between.change = unchanged
})

const ofShop = (provider: PaymentProvider, event: 'payment' | 'refund' = 'payment'): [Told, Told] => {
  const [one, other] = world.told(provider, event).filter(({ merchant }) => merchant === 'shop')
  if (one === undefined || other === undefined) throw new Error(`too few of ${provider}`)
  return [one, other]
}
const payment = ({ callback: { transaction } }: Told): QueryTarget => ({
  ...{ kind: 'payment', outTradeNo: transaction.outTradeNo },
})
const refund = ({ callback }: Told): QueryTarget => ({
  ...{ kind: 'refund', outTradeNo: callback.transaction.outTradeNo, ref: `refund:${callback.refund?.outRefundNo}` },
})
const asking = (provider: PaymentProvider) => world.client(provider, 'shop', between.url)
const changed = (body: (text: string) => string) => (answer: Passing) => ({
  ...answer,
  body: Buffer.from(body(answer.body.toString())),
})
const headers = (more: Passing['headers']) => (answer: Passing) => ({
  ...answer,
  headers: { ...answer.headers, ...more },
})
const without =
  (...names: string[]) =>
  (answer: Passing) => ({
    ...answer,
    headers: Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !names.includes(name))),
  })
const refused = (reason: string, field?: string) => ({
  kind: 'refused',
  reason,
  ...(field === undefined ? {} : { field }),
})
const shopKeys = () => {
  const keys = world.keys.find(({ merchant }) => merchant === 'shop')
  if (keys === undefined) throw new Error('no keys')
  return keys
}

describe('WeChat Pay v3', () => {
  const resigned = (
    body: (fields: Record<string, unknown>) => object,
    key = undefined as typeof attacker | undefined,
  ) => {
    return (answer: Passing): Passing => {
      const [platform] = shopKeys().wechatpay.platforms
      if (platform === undefined) throw new Error('no platform key')
      const fields = JSON.parse(answer.body.toString()) as Record<string, unknown>
      const bytes = Buffer.from(JSON.stringify(body(fields)))
      const signer = { ...platform.value, privateKey: key ?? platform.value.privateKey, apiV3Key: '' }
      return {
        ...answer,
        headers: { ...answer.headers, ...signRequest(bytes, signer, world.now).headers },
        body: bytes,
      }
    }
  }
  const amount = (text: string) => text.replace(/"total":\d+/, '"total":1')
  const cases: readonly (readonly [string, (answer: Passing) => Passing, object])[] = [
    ['another amount', changed(amount), refused('bad_signature')],
    [
      'the same printed anew',
      changed((text) => JSON.stringify(JSON.parse(text), undefined, 1)),
      refused('bad_signature'),
    ],
    ['signed by somebody else', resigned((fields) => fields, attacker), refused('bad_signature')],
    [
      'a signature too many',
      headers({ 'wechatpay-signature': ['YQ==', 'YQ=='] }),
      refused('repeated_header', 'wechatpay-signature'),
    ],
    ['no signature', without('wechatpay-signature'), refused('missing_header', 'wechatpay-signature')],
    [
      'no signature at all',
      without('wechatpay-signature', 'wechatpay-serial', 'wechatpay-nonce', 'wechatpay-timestamp'),
      refused('missing_header', 'wechatpay-timestamp'),
    ],
    ['an unknown key', headers({ 'wechatpay-serial': 'ABCDEF' }), refused('unknown_key', 'ABCDEF')],
    [
      'another merchant',
      resigned((fields) => ({ ...fields, mchid: '1900009999' })),
      refused('wrong_recipient', 'mchid'),
    ],
    [
      'another app',
      resigned((fields) => ({ ...fields, appid: 'wx9999999999999999' })),
      refused('wrong_recipient', 'appid'),
    ],
    [
      'another order',
      resigned((fields) => ({ ...fields, out_trade_no: 'T-other' })),
      refused('other_order', 'out_trade_no'),
    ],
    [
      'an amount that is none',
      resigned((fields) => ({ ...fields, amount: { total: '1' } })),
      refused('malformed', 'amount'),
    ],
    [
      'a state that nobody knows',
      resigned((fields) => ({ ...fields, trade_state: 'NEW' })),
      refused('malformed', 'trade_state'),
    ],
    ['a field twice', changed((text) => text.replace('{', '{"mchid":"1",')), refused('bad_signature')],
    ['no JSON', resigned(() => []), refused('malformed', 'body')],
  ]
  test.each(cases)('%s is refused', async (_what, change, wanted) => {
    const [one] = ofShop('wechatpay')
    expect(await ask(asking('wechatpay'), payment(one))).toMatchObject({ kind: 'answered' })
    between.change = change
    expect(await ask(asking('wechatpay'), payment(one))).toEqual(wanted)
  })

  test('a true answer to another question, or an old one, is refused', async () => {
    const [one, other] = ofShop('wechatpay')
    let kept: Passing | undefined
    between.change = (answer) => (kept = answer)
    await ask(asking('wechatpay'), payment(other))
    between.change = () => kept ?? { status: 500, headers: {}, body: Buffer.alloc(0) }
    expect(await ask(asking('wechatpay'), payment(one))).toEqual(refused('other_order', 'out_trade_no'))
    const before = world.now
    world.now = new Date(before.getTime() + 301_000)
    const answer = await ask(asking('wechatpay'), payment(other))
    world.now = before
    expect(answer).toEqual(refused('stale'))
  })

  test('that there is no such order must be signed too; that we may not ask need not', async () => {
    const [one] = ofShop('wechatpay')
    const says = (status: number, code: string) => (): Passing => ({
      ...{ status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify({ code })) },
    })
    between.change = says(404, 'ORDER_NOT_EXIST')
    expect(await ask(asking('wechatpay'), payment(one))).toEqual(refused('missing_header', 'wechatpay-timestamp'))
    between.change = says(401, 'SIGN_ERROR')
    expect(await ask(asking('wechatpay'), payment(one))).toEqual(refused('credentials', 'SIGN_ERROR'))
    between.change = says(400, 'PARAM_ERROR')
    expect(await ask(asking('wechatpay'), payment(one))).toEqual(refused('provider_error', 'PARAM_ERROR'))
    between.change = says(400, 'password=hunter2 <script>')
    expect(await ask(asking('wechatpay'), payment(one))).toEqual(refused('provider_error', 'no code'))
    between.change = says(502, '')
    expect(await ask(asking('wechatpay'), payment(one))).toEqual({ kind: 'try_later', reason: 'system_error' })
    between.change = (answer) => ({ ...headers({ 'retry-after': '7' })(answer), status: 429 })
    expect(await ask(asking('wechatpay'), payment(one))).toEqual({
      ...{ kind: 'try_later', reason: 'rate_limited', afterMs: 7_000 },
    })
  })

  test.each([
    ['7', 7_000],
    ['0', 0],
    ['99999', 3_600_000],
    ['99999999999999999999', 3_600_000],
    [new Date(Math.ceil(Date.parse('2026-03-04T06:06:07Z')) + 30_000).toUTCString(), 30_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 3_600_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['-5', undefined],
    ['soon', undefined],
  ])('Retry-After: %s is waited for, an hour at most', async (said, afterMs) => {
    const [one] = ofShop('wechatpay')
    between.change = (answer) => ({ ...headers({ 'retry-after': said })(answer), status: 503 })
    const wanted = { kind: 'try_later', reason: 'system_error', ...(afterMs === undefined ? {} : { afterMs }) }
    expect(await ask(asking('wechatpay'), payment(one))).toEqual(wanted)
    between.change = (answer) => ({ ...headers({ 'retry-after': said })(answer), status: 429 })
    const slowly = { kind: 'try_later', reason: 'rate_limited', afterMs: afterMs ?? 1_000 }
    expect(await ask(asking('wechatpay'), payment(one))).toEqual(slowly)
  })

  test('a refund of another order, or another refund, is refused', async () => {
    const [one] = ofShop('wechatpay', 'refund')
    between.change = resigned((fields) => ({ ...fields, out_trade_no: 'T-other' }))
    expect(await ask(asking('wechatpay'), refund(one))).toEqual(refused('other_order', 'out_trade_no'))
    between.change = resigned((fields) => ({ ...fields, out_refund_no: 'R-other' }))
    expect(await ask(asking('wechatpay'), refund(one))).toEqual(refused('other_order', 'out_refund_no'))
    between.change = resigned((fields) => ({ ...fields, status: 'PROCESSING' }))
    expect(await ask(asking('wechatpay'), refund(one))).toMatchObject({
      messages: [{ facts: [], instead: { kind: 'no_effect' } }],
    })
  })

  test('a partner’s answer about another of its merchants is refused', async () => {
    const one = world.told('wechatpay', 'payment').find(({ merchant }) => merchant === 'books')
    const keys = world.keys.find(({ merchant }) => merchant === 'books')
    if (one === undefined || keys?.wechatpay.platforms[0] === undefined) throw new Error('no partner')
    const signer = { ...keys.wechatpay.platforms[0].value, apiV3Key: '' }
    between.change = (answer) => {
      const fields = JSON.parse(answer.body.toString()) as Record<string, unknown>
      const body = Buffer.from(JSON.stringify({ ...fields, sub_mchid: '1900008888' }))
      return { ...answer, headers: { ...answer.headers, ...signRequest(body, signer, world.now).headers }, body }
    }
    const client = world.client('wechatpay', 'books', between.url)
    expect(await ask(client, payment(one))).toEqual(refused('wrong_recipient', 'sub_mchid'))
  })
})

describe('WeChat Pay v2', () => {
  const resigned = (more: Record<string, string>, key?: string) => (answer: Passing) => {
    const fields = parseFlatXml(answer.body, 'xml')
    if (typeof fields === 'string') throw new Error(fields)
    const rest = Object.fromEntries([...fields].filter(([name]) => name !== 'sign'))
    const secret = key ?? shopKeys().wechatpayV2.apiKeys[0]?.value ?? ''
    return { ...answer, body: xmlRequest(signFields({ ...rest, ...more }, apiKey(secret), 'HMAC-SHA256')).rawBody }
  }
  const cases: readonly (readonly [string, (answer: Passing) => Passing, object])[] = [
    ['another amount', changed((text) => text.replace(/<total_fee>\d+/, '<total_fee>1')), refused('bad_signature')],
    ['signed with another key', resigned({}, '0'.repeat(32)), refused('bad_signature')],
    ['no signature', changed((text) => text.replace(/<sign>.*?<\/sign>/s, '')), refused('malformed', 'sign')],
    ['the weaker algorithm', resigned({ sign_type: 'MD5' }), refused('malformed', 'sign_type')],
    ['an entity', changed((text) => `<!DOCTYPE x []>${text}`), refused('malformed', 'body')],
    ['another merchant', resigned({ mch_id: '1900009999' }), refused('wrong_recipient', 'mch_id')],
    ['another order', resigned({ out_trade_no: 'T-other' }), refused('other_order', 'out_trade_no')],
    [
      'an unsigned "no such order"',
      () => unsigned({ return_code: 'SUCCESS', result_code: 'FAIL', err_code: 'ORDERNOTEXIST' }),
      refused('malformed', 'sign'),
    ],
    ['a signed refusal', resigned({ result_code: 'FAIL', err_code: 'NOAUTH' }), refused('credentials', 'NOAUTH')],
    [
      'our wrong key',
      () => unsigned({ return_code: 'FAIL', return_msg: '签名错误' }),
      refused('credentials', 'return_code'),
    ],
    [
      'too much, as the gateway says it',
      () => unsigned({ return_code: 'FAIL', return_msg: '频率限制' }),
      { kind: 'try_later', reason: 'rate_limited', afterMs: 1_000 },
    ],
    [
      'trouble, as the gateway says it',
      () => unsigned({ return_code: 'FAIL', return_msg: '系统繁忙' }),
      { kind: 'try_later', reason: 'system_error' },
    ],
  ]
  const unsigned = (fields: Record<string, string>): Passing => ({
    ...{ status: 200, headers: { 'content-type': 'text/xml' }, body: xmlRequest(fields).rawBody },
  })
  test.each(cases)('%s', async (_what, change, wanted) => {
    const [one] = ofShop('wechatpay-v2')
    between.change = change
    expect(await ask(asking('wechatpay-v2'), payment(one))).toEqual(wanted)
  })

  test('a refund that is not among the first of the list is asked about by its own number', async () => {
    const [one] = ofShop('wechatpay-v2', 'refund')
    const count = between.asked.length
    let answers = 0
    between.change = (answer) =>
      ++answers === 1 ? resigned({ out_refund_no_0: 'another', refund_count: '1' })(answer) : answer
    expect(await ask(asking('wechatpay-v2'), refund(one))).toMatchObject({ kind: 'answered' })
    expect(between.asked.slice(count)).toEqual(['/pay/refundquery', '/pay/refundquery'])
    between.change = resigned({ out_refund_no_0: 'another', refund_count: '1' })
    expect(await ask(asking('wechatpay-v2'), refund(one))).toEqual(refused('other_order', 'out_refund_no'))
  })

  test('a refund on its way, beside another that is through, is not decided', async () => {
    const [one] = ofShop('wechatpay-v2', 'refund')
    const number = one.callback.refund?.outRefundNo ?? ''
    const more = {
      out_refund_no_1: number,
      refund_id_1: '50000000001',
      refund_fee_1: '1',
      refund_status_1: 'PROCESSING',
    }
    between.change = resigned({ ...more, out_refund_no_0: 'another', refund_count: '2' })
    const answer = await ask(asking('wechatpay-v2'), refund(one))
    expect(answer).toMatchObject({ kind: 'answered', isUndecided: true })
    expect(answer.kind === 'answered' && answer.messages.flatMap(({ facts }) => facts)).toHaveLength(1)
    between.change = unchanged
    expect(await ask(asking('wechatpay-v2'), refund(one))).toMatchObject({ kind: 'answered', isUndecided: false })
  })
})

describe('Alipay', () => {
  const node = 'alipay_trade_query_response'
  const resigned = (more: object, key?: typeof attacker) => (answer: Passing) => {
    const { [node]: fields } = JSON.parse(answer.body.toString()) as Record<string, object>
    const signer = key ?? shopKeys().alipay.keys[0]?.value
    if (signer === undefined) throw new Error('no key')
    return { ...answer, body: Buffer.from(signAnswer('alipay.trade.query', { ...fields, ...more }, signer)) }
  }
  const errorOf = (fields: object) => (): Passing => ({
    ...{ status: 200, headers: {}, body: Buffer.from(JSON.stringify({ error_response: fields })) },
  })
  const cases: readonly (readonly [string, (answer: Passing) => Passing, object])[] = [
    [
      'another amount',
      changed((text) => text.replace(/"total_amount":"[\d.]+"/, '"total_amount":"0.01"')),
      refused('bad_signature'),
    ],
    [
      'a space that was not signed',
      changed((text) => text.replace(`"${node}":{`, `"${node}":{ `)),
      refused('bad_signature'),
    ],
    ['signed by somebody else', resigned({}, attacker), refused('bad_signature')],
    ['no signature', changed((text) => text.replace(/,"sign":"[^"]*"/, '')), refused('malformed', 'sign')],
    [
      'the answer twice',
      changed((text) => text.replace('{', `{"${node}":{"code":"10000"},`)),
      refused('malformed', 'body'),
    ],
    [
      'the signed text elsewhere',
      changed((text) =>
        text
          .replace(`"${node}"`, `"other":{"a":1},"${node}"`)
          .replace(/"total_amount":"[\d.]+"/, '"total_amount":"0.01"'),
      ),
      refused('bad_signature'),
    ],
    [
      'an unsigned "no such trade"',
      changed(() => JSON.stringify({ [node]: { code: '40004', sub_code: 'ACQ.TRADE_NOT_EXIST' } })),
      refused('malformed', 'sign'),
    ],
    ['another order', resigned({ out_trade_no: 'T-other' }), refused('other_order', 'out_trade_no')],
    ['another seller', resigned({ seller_id: '2088999999999999' }), refused('wrong_recipient', 'seller_id')],
    ['an amount that is none', resigned({ total_amount: '1e3' }), refused('malformed', 'total_amount')],
    [
      'our wrong key',
      errorOf({ code: '40002', sub_code: 'isv.invalid-signature' }),
      refused('credentials', 'isv.invalid-signature'),
    ],
    [
      'a question that is none',
      errorOf({ code: '40002', sub_code: 'isv.invalid-parameter' }),
      refused('provider_error', 'isv.invalid-parameter'),
    ],
    ['no JSON', changed(() => '<html>'), refused('malformed', 'body')],
  ]
  test.each(cases)('%s is refused', async (_what, change, wanted) => {
    const [one] = ofShop('alipay')
    between.change = change
    expect(await ask(asking('alipay'), payment(one))).toEqual(wanted)
  })

  test('what is around the signed text may be written in other ways', async () => {
    const [one] = ofShop('alipay')
    const spaced = (text: string) =>
      ` {\n "sign_type" : "a,}\\"{" , ${text.slice(1, -1).replace(`"${node}":`, `"${node}" :\t`)} }\n`
    between.change = changed(spaced)
    expect(await ask(asking('alipay'), payment(one))).toMatchObject({ kind: 'answered' })
  })
})

describe('Stripe, which signs no answer', () => {
  const intent = (more: object) =>
    changed((text) => {
      const list = JSON.parse(text) as { data: object[] }
      return JSON.stringify({ ...list, data: list.data.map((one) => ({ ...one, ...more })) })
    })
  const cases: readonly (readonly [string, (answer: Passing) => Passing, object])[] = [
    ['a test', intent({ livemode: false }), refused('wrong_recipient', 'livemode')],
    ['another order', intent({ metadata: { out_trade_no: 'T-other' } }), refused('other_order', 'metadata')],
    ['an order in other letters', changed((text) => text.toLowerCase()), refused('other_order', 'metadata')],
    ['an amount that is none', intent({ amount_received: 1.5 }), refused('malformed', 'amount_received')],
    [
      'more than one page',
      changed((text) => text.replace('"has_more":false', '"has_more":true')),
      refused('malformed', 'has_more'),
    ],
    ['no list', changed(() => '{}'), refused('malformed', 'data')],
    ['no JSON', changed(() => '<html>'), refused('malformed', 'body')],
    [
      'our wrong key',
      (answer) => ({ ...changed(() => '{"error":{"type":"invalid_request_error"}}')(answer), status: 401 }),
      refused('credentials', 'invalid_request_error'),
    ],
    [
      'a question that is none',
      (answer) => ({ ...changed(() => '{"error":{"code":"parameter_unknown"}}')(answer), status: 400 }),
      refused('provider_error', 'parameter_unknown'),
    ],
    [
      'a lock that another request holds',
      (answer) => ({ ...answer, status: 409 }),
      { kind: 'try_later', reason: 'system_error' },
    ],
  ]
  test.each(cases)('%s', async (_what, change, wanted) => {
    const [one] = ofShop('stripe')
    between.change = change
    expect(await ask(asking('stripe'), payment(one))).toEqual(wanted)
  })

  test('a refund of another payment is refused; an order that was paid twice is told whole', async () => {
    const [one] = ofShop('stripe', 'refund')
    between.change = (answer) => {
      const list = JSON.parse(answer.body.toString()) as { data: { object: string }[] }
      const isRefunds = list.data[0]?.object === 'refund'
      return isRefunds ? intent({ payment_intent: 'pi_other' })(answer) : answer
    }
    expect(await ask(asking('stripe'), refund(one))).toEqual(refused('other_order', 'payment_intent'))
    between.change = changed((text) => {
      const list = JSON.parse(text) as { data: { id: string }[] }
      const [first] = list.data
      return JSON.stringify({ ...list, data: [first, { ...first, id: 'pi_second' }, { ...first, metadata: {} }] })
    })
    const answer = await ask(asking('stripe'), payment(one))
    const refs = answer.kind === 'answered' ? answer.messages.map(({ facts }) => facts[0]?.providerRef) : []
    expect(refs).toEqual([`stripe:${one.callback.transaction.transactionId}`, 'stripe:pi_second'])
  })
})

test('a redirect takes no key and no signature elsewhere', async () => {
  for (const provider of ['wechatpay', 'wechatpay-v2', 'alipay', 'stripe'] as const) {
    const [one] = ofShop(provider)
    between.change = () => ({ status: 302, headers: { location: `${between.url}/stolen` }, body: Buffer.alloc(0) })
    expect(await ask(asking(provider), payment(one))).toEqual(refused('redirect'))
  }
  expect(between.asked).not.toContain('/stolen')
})

test('an answer that is too long is refused', async () => {
  for (const provider of ['wechatpay', 'wechatpay-v2', 'alipay', 'stripe'] as const) {
    const [one] = ofShop(provider)
    between.change = () => ({ status: 200, headers: {}, body: Buffer.alloc(600_000, ' ') })
    expect(await ask(asking(provider), payment(one))).toEqual(refused('too_large'))
  }
})

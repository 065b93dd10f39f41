import { expect, test } from 'vitest'
import { bareCloseNotice, returnFields, tradeNotice } from '../../src/providers/alipay/notice-fields.ts'
import { encodeForm, signReturn, type NoticeFields } from '../../src/providers/alipay/sign.ts'
import type { VerifiedMessage } from '../../src/providers/provider.ts'
import { printedRandom } from '../helpers/seed.ts'
import {
  APP_ID,
  fullRefund,
  notice,
  NOW,
  partialRefund,
  payment,
  provider,
  SELLER_ID,
  signedBytes,
  TRADE_NO,
  unpaidClose,
  waiting,
  without,
} from './alipay-subject.ts'
import { fuzzProvider } from './fuzz.ts'
import { isKeptAsAmbiguous } from './fuzz-law.ts'
import { mutateBody } from './mutate.ts'
import { platformPrivateKey } from './vectors.ts'

const trade = {
  appId: APP_ID,
  sellerId: SELLER_ID,
  tradeNo: '2024052022001468450512505579',
  outTradeNo: '订单2',
  totalFen: 1_990,
  subject: '会员+ 乗',
  createdAt: NOW,
  paidAt: NOW,
}
const event = { notifyId: 'n2', at: NOW, status: 'TRADE_SUCCESS' } as const
const notices: readonly NoticeFields[] = [
  payment,
  partialRefund,
  fullRefund,
  unpaidClose,
  waiting,
  { ...payment, out_trade_no: 'T2_2024', trade_no: `${TRADE_NO}9`, body: '', passback_params: '' },
  tradeNotice({ ...trade, charset: 'gbk' }, event),
  tradeNotice({ ...trade, certSn: 'f'.repeat(32) }, { ...event, refunded: { fen: 1, outBizNo: 'R-9', at: NOW } }),
  bareCloseNotice('n3', NOW),
  // Fields that none of Alipay's documents has: nothing is known to be hidden where one hides the next.
  { ...payment, ...Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`x_${n}`, String(n)])) },
]
const genuine = notices.map((fields) => notice(fields))
const said = genuine.map((request): readonly VerifiedMessage[] => {
  const verdict = provider.verify(request, NOW)
  if (verdict.kind === 'verified') return verdict.messages
  throw new Error(`not genuine: ${JSON.stringify(verdict)}`)
})

fuzzProvider('Alipay', {
  provider,
  now: NOW,
  genuine,
  expected: said,
  keepsAmbiguous: true,
  signed: [
    {
      what: 'forms',
      bodies: notices.map((fields) => Buffer.from(encodeForm(without(fields, 'sign_type')))),
      sign: signedBytes,
    },
  ],
})

test('every run of fields, put into the value before it under the same signature, is refused, kept without a fact, or changes nothing', () => {
  let [hidden, kept] = [0, 0]
  for (const [index, { rawBody }] of genuine.entries()) {
    const pairs = rawBody.toString('latin1').split('&').sort()
    const unsigned = pairs.filter((pair) => /^sign(_type)?=/.test(pair))
    const signed = pairs.filter((pair) => !unsigned.includes(pair))
    for (let from = 1; from < signed.length; from++)
      for (let to = from + 1; to <= signed.length; to++) {
        const cut = [
          ...signed.slice(0, from - 1),
          signed.slice(from - 1, to).join('%26'),
          ...signed.slice(to),
          ...unsigned,
        ]
        const verdict = provider.verify({ headers: {}, repeatedHeaders: [], rawBody: Buffer.from(cut.join('&')) }, NOW)
        if (verdict.kind !== 'verified') continue
        if (isKeptAsAmbiguous(verdict)) kept += 1
        else {
          hidden += 1
          expect(verdict.messages, cut.join('&')).toEqual(said[index])
        }
      }
  }
  // Those that decide nothing: without them this would be a test of nothing.
  expect(hidden).toBeGreaterThan(10)
  expect(kept).toBeGreaterThan(100)
})

test('10000 mutated return queries are refused, or say what an original said', () => {
  const random = printedRandom('fuzz Alipay, returns')
  const queries = [trade, { ...trade, tradeNo: TRADE_NO, outTradeNo: 'T1', charset: 'gbk' as const }].map((one) =>
    signReturn(returnFields(one, NOW), platformPrivateKey),
  )
  const others = queries.map((query) => ({ headers: {}, repeatedHeaders: [], rawBody: Buffer.from(query) }))
  const verdictOf = (query: string) => provider.verifyReturn?.(query, NOW)
  const expected = queries.map(verdictOf)
  expect(expected).toMatchObject([{ kind: 'verified' }, { kind: 'verified' }])
  for (let run = 0; run < 10_000; run++) {
    const query = mutateBody(Buffer.from(random.pick(queries)), { random, others }).toString()
    const verdict = verdictOf(query)
    if (verdict?.kind === 'verified') expect(expected, query).toContainEqual(verdict)
    else expect(verdict?.kind, query).toBe('refused')
  }
})

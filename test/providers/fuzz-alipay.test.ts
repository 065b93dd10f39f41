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
  signed: [
    {
      what: 'forms',
      bodies: notices.map((fields) => Buffer.from(encodeForm(without(fields, 'sign_type')))),
      sign: signedBytes,
    },
  ],
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

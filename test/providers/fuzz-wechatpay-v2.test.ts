import { expect, test } from 'vitest'
import { flatXml, signFields } from '../../src/providers/wechatpay-v2/sign.ts'
import { printedRandom, randomOf } from '../helpers/seed.ts'
import { fuzzProvider } from './fuzz.ts'
import { isKeptAsAmbiguous } from './fuzz-law.ts'
import { mutate } from './mutate.ts'
import {
  bothTypes,
  documents,
  hint,
  KEY,
  notice,
  NOW,
  payment,
  refund,
  refundEnvelope,
  refundNotice,
  request,
  signedBytes,
  without,
  xmlOf,
} from './wechatpay-v2-subject.ts'

const genuine = [
  ...documents.map((fields) => notice(fields)),
  notice({ ...payment, out_trade_no: 'T4', transaction_id: '42000004' }, KEY, 'MD5'),
]
const expected = genuine.map((request) => {
  const verdict = bothTypes.verify(request, NOW)
  if (verdict.kind === 'refused') throw new Error(`refused: ${JSON.stringify(verdict.rejection)}`)
  return verdict.messages
})
const refunds = [refund, { ...refund, out_refund_no: 'R-3', out_trade_no: 'T2' }, without(refund, 'out_trade_no')]

fuzzProvider('WeChat Pay v2', {
  provider: bothTypes,
  now: NOW,
  genuine,
  expected,
  keepsAmbiguous: true,
  signed: [
    { what: 'documents', bodies: documents.map((fields) => xmlOf(fields)), sign: (body) => signedBytes(body) },
    {
      what: 'refunds',
      bodies: refunds.map((fields) => Buffer.from(flatXml('root', fields))),
      sign: (body) => refundNotice(body),
    },
  ],
})

test('WeChat Pay v2: 20000 mutated refund notifications, which nothing signs, never become a fact', () => {
  const random = printedRandom('fuzz WeChat Pay v2 refunds')
  const others = [...refunds.map((fields) => refundNotice(fields)), ...genuine]
  const envelopes = [refundEnvelope, { ...refundEnvelope, return_msg: 'OK' }]
  let hints = 0
  for (let run = 0; run < 20_000; run++) {
    const original = refundNotice(random.pick(refunds), random.pick(envelopes))
    const { request } = mutate(original, { random: randomOf(random.below(2 ** 31)), others })
    const verdict = bothTypes.verify(request, NOW)
    if (verdict.kind === 'refused') continue
    const [message] = verdict.messages
    if (expected.some(([known]) => known.messageId === message.messageId && known.facts.length > 0)) continue
    expect(message.facts).toEqual([])
    if (message.instead?.kind === 'hint') hints += 1
  }
  expect(hints).toBeGreaterThan(100)
  expect(bothTypes.verify(refundNotice(), NOW)).toEqual({ kind: 'verified', messages: [hint] })
})

test('WeChat Pay v2: every run of fields, put into the value before it, is refused, kept without a fact, or changes nothing', () => {
  let kept = 0
  for (const fields of documents) {
    const { sign = '', ...rest } = signFields(fields, KEY, 'HMAC-SHA256')
    const names = Object.keys(rest)
      .filter((name) => rest[name] !== '')
      .sort()
    const said = bothTypes.verify(notice(fields), NOW)
    for (let from = 1; from < names.length; from++)
      for (let to = from + 1; to <= names.length; to++) {
        const cut = without(rest, ...names.slice(from, to))
        const into = names[from - 1] ?? ''
        cut[into] = names
          .slice(from, to)
          .reduce((value, name) => `${value}&${name}=${rest[name] ?? ''}`, rest[into] ?? '')
        const verdict = bothTypes.verify(request(flatXml('xml', { ...cut, sign })), NOW)
        if (isKeptAsAmbiguous(verdict)) kept += 1
        else if (verdict.kind === 'verified') expect(verdict, Object.keys(cut).join()).toEqual(said)
      }
  }
  expect(kept).toBeGreaterThan(100)
})

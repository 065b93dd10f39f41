import { expect, test } from 'vitest'
import type { VerifiedMessage } from '../../src/providers/provider.ts'
import { parseMapping } from '../../src/providers/standard-webhooks/parse-mapping.ts'
import { printedRandom } from '../helpers/seed.ts'
import { fuzzProvider } from './fuzz.ts'
import { mutateBody } from './mutate.ts'
import {
  ed25519,
  EXAMPLE,
  newer,
  NOW,
  payment,
  provider,
  refund,
  secret,
  signed,
  total,
  withData,
} from './standard-webhooks-subject.ts'

const messages = [
  payment,
  withData(payment, { out_trade_no: '订单2', payment_id: 'P-2', amount: 0.29 }),
  { ...payment, type: 'payment.failed' },
  refund,
  { ...refund, type: 'refund.failed' },
  total,
  { ...payment, type: 'payment.pending' },
  { type: 'ping' },
]
// A verification of ed25519 costs as much as thirty of HMAC: few of the mutated requests get that far.
const genuine = messages.map((message, index) =>
  signed(message, index % 4 === 3 ? [newer, ed25519.privateKey] : [secret], `msg_${index}`),
)
const said = genuine.map((request): readonly VerifiedMessage[] => {
  const verdict = provider.verify(request, NOW)
  if (verdict.kind === 'verified') return verdict.messages
  throw new Error(`not genuine: ${JSON.stringify(verdict)}`)
})

fuzzProvider('Standard Webhooks', {
  provider,
  now: NOW,
  genuine,
  expected: said,
  signed: [{ what: 'messages', bodies: genuine.map(({ rawBody }) => rawBody), sign: (body) => signed(body) }],
})

test('Standard Webhooks: 10000 mutated mapping files are read, or their problems told', { timeout: 60_000 }, () => {
  const random = printedRandom('fuzz mapping files')
  const bodies = [Buffer.from(EXAMPLE), Buffer.from(JSON.stringify(JSON.parse(EXAMPLE)))]
  const others = bodies.map((rawBody) => ({ headers: {}, repeatedHeaders: [], rawBody }))
  let read = 0
  for (let run = 0; run < 10_000; run++) {
    const parsed = parseMapping(mutateBody(random.pick(bodies), { random, others }).toString())
    if (parsed.kind === 'mapping') read += 1
    else expect(parsed.problems.length).toBeGreaterThan(0)
  }
  expect(read).toBeGreaterThan(0)
})

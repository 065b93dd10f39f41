import { expect, test } from 'vitest'
import { webhookSecret } from '../../src/providers/standard-webhooks/keys.ts'
import { signWebhook } from '../../src/providers/standard-webhooks/sign.ts'
import { verifySignature } from '../../src/providers/standard-webhooks/verify.ts'
import { vector } from './vectors.ts'

interface Case {
  secret: string
  id: string
  timestamp: string
  payload: string
  signature: string
}
const { cases, negative } = vector('standard-webhooks/sign') as { cases: Case[]; negative: Case[] }
const keysOf = ({ secret }: Case) => [webhookSecret(secret)].flatMap((key) => key ?? [])
const timeOf = ({ timestamp }: Case) => new Date(Number(timestamp) * 1_000)
const verdictOf = (c: Case, change: Partial<Case> = {}) => {
  const { id, timestamp, payload, signature } = { ...c, ...change }
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
  const keys = keysOf(c).map((value) => ({ value, validToMs: Infinity }))
  return verifySignature({ headers, repeatedHeaders: [], rawBody: Buffer.from(payload) }, keys, timeOf(c))
}
const BAD_SIGNATURE = { kind: 'refused', rejection: { kind: 'bad_signature' } }

test('standard-webhooks: all of its libraries are here', () => expect([cases.length, negative.length]).toEqual([2, 1]))

test.for(cases)('standard-webhooks: $id verifies, and nothing near it', (c) => {
  expect(verdictOf(c)).toBeUndefined()
  for (const change of [
    { payload: `${c.payload}\n` },
    { payload: JSON.stringify(JSON.parse(c.payload)).replace(/}$/, ' }') },
    { timestamp: String(Number(c.timestamp) + 1) },
    { id: `${c.id}x` },
    { signature: c.signature.replace('v1,', 'v1a,') },
    { signature: c.signature.replace('v1,', 'v2,') },
  ])
    expect(verdictOf(c, change)).toEqual(BAD_SIGNATURE)
})

test.for(cases)('standard-webhooks: $id is signed by us as by its libraries', (c) =>
  expect(signWebhook(c.payload, c.id, keysOf(c), timeOf(c)).headers['webhook-signature']).toBe(c.signature),
)

test.for(negative)('standard-webhooks: $id under another signature is refused', (c) =>
  expect(verdictOf(c)).toEqual(BAD_SIGNATURE),
)

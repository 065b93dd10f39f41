import { createHmac, createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { signEvent } from '../../src/providers/stripe/sign.ts'
import { hmacSignature, verifySignature } from '../../src/providers/stripe/verify.ts'
import { vector } from './vectors.ts'

const { secret, cases } = vector('stripe/hmac') as { secret: string; cases: { payload: string; hex: string }[] }
const key = createSecretKey(Buffer.from(secret))
const NOW = new Date(1_700_000_000_000)

test('stripe: all vectors are here', () => expect(cases).toHaveLength(3))

test.for(cases)('stripe: HMAC of "$payload" under the whole text of the secret', ({ payload, hex }) => {
  expect(createHmac('sha256', key).update(payload).digest('hex')).toBe(hex)
  expect(
    createHmac('sha256', createSecretKey(Buffer.from(`${secret} `)))
      .update(payload)
      .digest('hex'),
  ).not.toBe(hex)
})

test.for(cases.filter(({ payload }) => payload !== ''))('stripe: "$payload" in a header', ({ payload }) => {
  // The vectors are of the bare HMAC; what is signed has the time before it.
  const { headers, rawBody } = signEvent(payload, [key], NOW)
  expect(headers['stripe-signature']).toBe(
    `t=1700000000,v1=${createHmac('sha256', secret).update(`1700000000.${payload}`).digest('hex')}`,
  )
  expect(hmacSignature(key, '1700000000', rawBody).toString('hex')).toBe(headers['stripe-signature'].split('v1=')[1])
  const secrets = [{ value: key, validToMs: Infinity }]
  const request = { headers, repeatedHeaders: [], rawBody }
  expect(verifySignature(request, secrets, NOW)).toBeUndefined()
  const without = { 'stripe-signature': `t=1700000000,v1=${createHmac('sha256', key).update(rawBody).digest('hex')}` }
  expect(verifySignature({ ...request, headers: without }, secrets, NOW)).toEqual({
    kind: 'refused',
    rejection: { kind: 'bad_signature' },
  })
})

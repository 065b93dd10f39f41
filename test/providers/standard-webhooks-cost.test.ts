import type * as crypto from 'node:crypto'
import { generateKeyPairSync, verify } from 'node:crypto'
import { beforeEach, expect, test, vi } from 'vitest'
import { bound, ed25519, NOW, payment, secret, signed } from './standard-webhooks-subject.ts'

vi.mock('node:crypto', async (original) => {
  const real = await original<typeof crypto>()
  return { ...real, verify: vi.fn(real.verify) }
})
beforeEach(() => {
  vi.mocked(verify).mockClear()
})

const both = signed(payment, [secret, ed25519.privateKey])
const [v1 = '', v1a = ''] = (both.headers['webhook-signature'] ?? '').split(' ')
const wrong = `v1a,${Buffer.alloc(64, 1).toString('base64')}`
const others = Array.from({ length: 3 }, () => generateKeyPairSync('ed25519').publicKey)
const four = bound([...others, ed25519.publicKey])
/** The verdict, and how many verifications of ed25519 it took. */
const tries = (header: string, by = four) => [
  by.verify({ ...both, headers: { ...both.headers, 'webhook-signature': header } }, NOW).kind,
  vi.mocked(verify).mock.calls.length,
]

test('one forgery cost up to 12 verifications; now 4', () => {
  expect(tries(`${wrong} ${wrong} ${wrong}`)).toEqual(['refused', 4])
})

test('one signature is tried under every key that a merchant can have', () => {
  expect(tries(v1a)).toEqual(['verified', 4])
})

test('while two keys are in use, a sender may sign with both', () => {
  expect(tries(`${wrong} ${v1a}`, bound([...others.slice(0, 1), ed25519.publicKey]))).toEqual(['verified', 4])
})

test('secrets come first, as they cost a thirtieth', () => {
  expect(tries(`${wrong} ${v1}`, bound([...others, secret]))).toEqual(['verified', 0])
})

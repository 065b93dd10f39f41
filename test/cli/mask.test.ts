import { expect, test } from 'vitest'
import { createMask } from '../../src/cli/mask.ts'

const SECRET = 'whsec_MfKQ+r8GKY/rTwjUPD8ILP/Io2LaLaSw=='

test.each([
  ['as it is', SECRET],
  ['without its prefix', SECRET.slice(6)],
  ['without its padding', SECRET.slice(0, -2)],
  ['in a form', encodeURIComponent(SECRET)],
  ['in a form, lower-case', SECRET.replaceAll('+', '%2b').replaceAll('/', '%2f')],
  ['its plus read as a space', SECRET.replaceAll('+', ' ')],
  ['its slashes escaped', SECRET.replaceAll('/', '\\/')],
  ['its slashes escaped, and shown', SECRET.replaceAll('/', '\\\\/')],
])('a secret is hidden: %s', (_, text) => {
  const { secret, hide } = createMask()
  secret(SECRET)
  const shown = JSON.stringify(hide({ a: [`x${text}y`, { b: text }], c: 1, d: null }))
  expect(shown).toContain('[secret]')
  for (const part of ['MfKQ', 'r8GKY', 'rTwjUPD8ILP', 'Io2LaLaSw']) expect(shown).not.toContain(part)
})

const KEY = 'k3y/0123+456789abcdef0123456789AB'
test.each(['', 'a', 'ab', 'abc', 'user:'])('a secret is hidden in base64, after %j and before more', (before) => {
  for (const secret of [KEY, SECRET])
    for (const text of [secret, secret.replace('whsec_', '')])
      for (const [after, coding] of [
        ['', 'base64'],
        ['x', 'base64'],
        ['', 'base64url'],
        ['and more', 'base64url'],
      ] as const) {
        const mask = createMask()
        mask.secret(secret)
        const hidden = mask.hide(Buffer.from(before + text + after).toString(coding))
        expect(hidden).toContain('[secret]')
        // What is left of a secret: at most a character at each end, of which some bits are a neighbour's.
        const around = Buffer.from(before).toString('base64url').length + Buffer.from(after).toString('base64').length
        expect(hidden.replace('[secret]', '').length).toBeLessThanOrEqual(around + 4)
      }
})

test('many backslashes are read at once, whatever the secret begins with', () => {
  const { secret, hide } = createMask()
  secret('/123456789abcdef0123456789ABCDEF')
  const startedMs = performance.now()
  hide(`${'\\'.repeat(60_000)}123456789abcdef0123456789ABCDEF`)
  expect(performance.now() - startedMs).toBeLessThan(1_000)
})

test('a short text is no secret, and hides nothing', () => {
  const { secret, hide } = createMask()
  secret('abc')
  secret('')
  expect(hide('abcabc')).toBe('abcabc')
})

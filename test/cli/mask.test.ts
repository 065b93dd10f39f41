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

test('a short text is no secret, and hides nothing', () => {
  const { secret, hide } = createMask()
  secret('abc')
  secret('')
  expect(hide('abcabc')).toBe('abcabc')
})

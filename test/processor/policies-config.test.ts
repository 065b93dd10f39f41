import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { policyOf } from '../../src/orders/policies.ts'
import { policies } from '../../src/processor/policies-config.ts'
import { readConfig } from '../../src/runtime/config.ts'

const read = (document: unknown) =>
  readConfig({ POLICIES: policies }, { POLICIES: typeof document === 'string' ? document : JSON.stringify(document) })
    .POLICIES
const minutesOf = (document: unknown, merchant: string) => {
  const { acceptAfterCloseMs } = policyOf(read(document), merchant)
  return acceptAfterCloseMs === null ? null : acceptAfterCloseMs / 60_000
}
const problemsOf = (document: unknown) => {
  try {
    read(document)
    return []
  } catch (error) {
    return (error as Error).message.split('\n').slice(1)
  }
}

test('the example in docs/examples, from a file', () => {
  const example = new URL('../../docs/examples/policies.json', import.meta.url).pathname
  const { POLICIES } = readConfig({ POLICIES: policies }, { POLICIES_FILE: example })
  const minutes = ['flowershop', 'tickets', 'any'].map((merchant) => policyOf(POLICIES, merchant).acceptAfterCloseMs)
  expect(minutes).toEqual([600_000, null, 120_000])
  expect(readFileSync(new URL('../../docs/merchants.md', import.meta.url), 'utf8')).toContain(
    readFileSync(example, 'utf8'),
  )
})

test('none, empty ones, and those that say nothing of a kind', () => {
  const empty = readConfig({ POLICIES: policies }, {}).POLICIES
  expect(policyOf(empty, 'shop')).toEqual({ acceptAfterCloseMs: null })
  expect(minutesOf({}, 'shop')).toBeNull()
  const everybody = { paid_after_close: { accept_within_minutes: 5 } }
  expect(minutesOf({ everybody, merchants: { shop: {} } }, 'shop')).toBe(5)
  expect(minutesOf({ everybody: { paid_after_close: { accept_within_minutes: 0 } } }, 'shop')).toBe(0)
})

test('all mistakes at once, each with its place; the document is not quoted', () => {
  const problems = problemsOf({
    everyone: {},
    everybody: { paid_after_closing: 'anomaly' },
    merchants: {
      Shop: {},
      a: { paid_after_close: { accept_within_minutes: 10_081 } },
      b: { paid_after_close: { accept_within_minutes: 1.5 } },
      c: { paid_after_close: { minutes: 1 } },
      d: { paid_after_close: 'accept' },
    },
  })
  expect(problems).toHaveLength(7)
  for (const place of ['POLICIES ', 'POLICIES.everybody ', 'POLICIES.merchants.Shop ', 'a', 'b', 'c', 'd'])
    expect(problems.join('\n')).toContain(place.length > 1 ? place : `POLICIES.merchants.${place}.paid_after_close`)
  for (const bad of ['{', '[]', 'null', '"x"', '12', '{"merchants":[]}']) expect(problemsOf(bad), bad).toHaveLength(1)
  expect(problemsOf('{"secret: 1').join()).not.toContain('secret')
})

test('a file that is away, or both file and value', () => {
  const folder = mkdtempSync(join(tmpdir(), 'policies-'))
  try {
    const file = join(folder, 'policies.json')
    expect(() => readConfig({ POLICIES: policies }, { POLICIES_FILE: file })).toThrow('POLICIES_FILE')
    writeFileSync(file, '{}')
    expect(() => readConfig({ POLICIES: policies }, { POLICIES_FILE: file, POLICIES: '{}' })).toThrow('keep one')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

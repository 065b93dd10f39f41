import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FACT_KINDS, STATUSES } from '../../src/orders/model.ts'
import { COMMAND_KINDS, ON_COMMAND } from '../../src/orders/on-command.ts'
import { ON_FACT } from '../../src/orders/on-fact.ts'
import { printStates } from '../../src/orders/states.ts'

test('the tables are total: every status, every kind of fact, every command, and nothing else', () => {
  expect(Object.keys(ON_FACT)).toEqual([...STATUSES])
  expect(Object.keys(ON_COMMAND)).toEqual([...STATUSES])
  for (const status of STATUSES) {
    expect(Object.keys(ON_FACT[status]).sort()).toEqual([...FACT_KINDS].sort())
    expect(Object.keys(ON_COMMAND[status])).toEqual([...COMMAND_KINDS])
  }
})

test('docs/order-states.md is what is printed (node dev/print-states.ts > docs/order-states.md)', () => {
  expect(readFileSync(new URL('../../docs/order-states.md', import.meta.url), 'utf8')).toBe(printStates())
})

test('⇄ marks exactly these', () => {
  const marked = STATUSES.flatMap((status) =>
    FACT_KINDS.filter((kind) => ON_FACT[status][kind].arrivalDependent).map((kind) => `${status} × ${kind}`),
  )
  expect(marked).toEqual([
    'pending × provider_closed',
    'paid × payment_succeeded',
    'paid × refund_succeeded',
    'paid × provider_closed',
    'shipped × payment_succeeded',
    'shipped × refund_succeeded',
    'closed × payment_succeeded',
    'refunded × payment_succeeded',
  ])
})

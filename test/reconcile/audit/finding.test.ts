import { expect, test } from 'vitest'
import { windowOf } from '../../../src/cli/audit-run.ts'
import { bounded } from '../../../src/reconcile/audit/finding.ts'
import { judgeSequence } from '../../../src/reconcile/audit/judge-sequence.ts'
import { NAMELESS } from '../../../src/reconcile/audit/finding.ts'
import type { AuditedOrder } from '../../../src/reconcile/audit/audited-order.ts'
import type { Say } from '../../../src/reconcile/audit/judge-order.ts'

test('what a stranger wrote is bounded, differs if it differs, and is text that jsonb takes', () => {
  expect(bounded('ORDER-1')).toBe('ORDER-1')
  expect(bounded('a\0b\ud800')).toBe('a\\0b\ufffd')
  const [one, other] = ['x'.repeat(900_000), `${'x'.repeat(899_999)}y`]
  expect(bounded(one).length).toBeLessThan(400)
  expect(bounded(one)).not.toBe(bounded(other))
  expect(bounded(`${'x'.repeat(299)}\u{1f600}${one}`).isWellFormed()).toBe(true)
})

test('a hole in an order’s numbers is one finding, however wide', () => {
  const say: Say = (finding, _event, detail) => ({ ...NAMELESS, finding, in: 'orders', detail })
  const of = (sequence: number, ...numbers: number[]) =>
    judgeSequence({ sequence, events: numbers.map((n) => ({ sequence: n })) } as unknown as AuditedOrder, say).map(
      ({ finding, detail }) => `${finding} ${detail}`,
    )
  expect(of(3, 2, 1, 3)).toEqual([])
  expect(of(0)).toEqual([])
  expect(of(3, 1, 3)).toEqual([`missing event number 2 of the order's 3`])
  expect(of(2_000_000_000, 1, 3)).toEqual([
    `missing event number 2 of the order's 2000000000`,
    `missing event numbers 4 to 2000000000 of the order's 2000000000`,
  ])
  expect(of(2, 1, 2, 9)).toEqual(['extra it is number 9 of 2'])
  expect(of(1, 9)).toEqual(['extra it is number 9 of 1', `missing event number 1 of the order's 1`])
})

test('a window does not reach into the future, and begins before it ends', () => {
  const now = Date.UTC(2026, 10, 1)
  const at = (hours: number) => new Date(now + hours * 3_600_000)
  expect(windowOf(undefined, undefined, now)).toEqual({ sinceMs: now - 86_460_000, untilMs: now - 60_000 })
  expect(windowOf(at(-2), at(5), now)).toEqual({ sinceMs: now - 7_200_000, untilMs: now })
  expect(() => windowOf(at(1), at(5), now)).toThrow('--since must be before --until')
  expect(() => windowOf(at(-1), at(-1), now)).toThrow('--since must be before --until')
  expect(() => windowOf(at(-1), at(-2), now)).toThrow('--since must be before --until')
})

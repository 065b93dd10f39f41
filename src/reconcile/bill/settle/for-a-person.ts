import { DETAIL_CHARS_MAX, isIdentity, isOrderNumber, isTimeMs } from '../../../providers/limits.ts'
import type { VerifiedMessage } from '../../../providers/provider.ts'
import type { BillOf } from '../../../store/bill-runs.ts'
import { chinaDayStart } from '../china-day.ts'
import type { BillFinding, Side } from '../finding.ts'

/**
 * A finding that no question can settle, as a fact of its order: its lane opens the anomaly. The fact's identity is what
 * the finding is about and its kind, and has no time and no run in it, so that however often the bill is imported, and by
 * how many at once, there is one anomaly. Pure.
 * @returns undefined: it names no order that may be kept here
 */
export function forAPerson(finding: BillFinding, { provider, day }: Omit<BillOf, 'merchant'>) {
  const { outTradeNo, ref, what, there, here, line, detail } = finding
  const providerRef = `${ref ?? ''}/bill/${finding.finding}`
  if (ref === null || !isOrderNumber(outTradeNo) || !isIdentity(providerRef)) return undefined
  const atMs = there?.atMs ?? here?.atMs ?? null
  const says = [
    `${provider}'s bill of ${day}${line === null ? '' : `, line ${line}`}: ${what ?? 'row'} ${finding.finding}`,
    ...[there && `there ${wordsOf(there)}`, here && `here ${wordsOf(here)}`, detail].filter((part) => part !== null),
  ]
  return {
    ...{ outTradeNo, messageType: `bill ${finding.finding}`, messageId: '' },
    facts: [
      {
        ...{ eventType: 'bill_differs', providerRef, paymentRef: null, amountMinor: 0, currency: '' },
        ...{ amountKind: 'none', eventTimeMs: atMs !== null && isTimeMs(atMs) ? atMs : chinaDayStart(day) },
        // A cut may leave half of a pair.
        detail: says.join('; ').replaceAll('\0', '\ufffd').slice(0, DETAIL_CHARS_MAX).toWellFormed(),
      },
    ],
  } as const satisfies VerifiedMessage
}

const wordsOf = ({ amountMinor, currency, status }: Side) =>
  [amountMinor, currency, status].filter((part) => part !== null).join(' ')

import type pg from 'pg'
import type { BillFormat } from '../../providers/bill-formats.ts'
import { absentFacts, archivedSince, seenInOtherBills, type AbsentFact } from '../../store/bill-absent.ts'
import { importedDays, type BillOf } from '../../store/bill-runs.ts'
import { chinaDayStart, daysOfFact, DAY_MS, EDGE_MS } from './china-day.ts'
import type { BillFinding } from './finding.ts'
import type { UnreadableLine } from './load-bill.ts'

export interface AbsentSearch {
  readonly client: pg.ClientBase
  readonly db: pg.Pool
  readonly of: BillOf
  readonly format: BillFormat
  readonly lists: { readonly payments: boolean; readonly refunds: boolean }
  readonly unreadable: readonly UnreadableLine[]
  readonly archiveAfterDays: number
  readonly nowMs: number
}

export interface Absent {
  readonly findings: readonly BillFinding[]
  /** Facts that may stand in the bills of earlier days that are not here. */
  readonly notJudged: number
}

/**
 * What is known here and is in no bill that may have it, where this day's is the last of these. A fact of the first
 * minutes may stand in the bill of the day before, one of the last minutes is looked for with the next day's; a refund
 * may stand in the bill of an earlier day.
 */
export async function* findAbsent(search: AbsentSearch): AsyncGenerator<Absent> {
  const { client, db, of, format, lists, unreadable, archiveAfterDays, nowMs } = search
  const startMs = chinaDayStart(of.day)
  const fromMs = startMs - EDGE_MS
  const window = {
    ...{ merchant: of.merchant, refPrefix: format.refPrefix, fromMs, untilMs: startMs + DAY_MS - EDGE_MS, ...lists },
    archivedSince: archivedSince(fromMs, archiveAfterDays, nowMs),
  }
  for await (const page of absentFacts(client, window)) {
    const facts = page.filter((fact) => !unreadable.some(({ text }) => text.includes(numberOf(fact, format))))
    const elsewhere = facts.map((fact) => otherDays(fact, of.day, format))
    const place = { merchant: of.merchant, provider: of.provider, days: [...new Set(elsewhere.flat())] }
    const isAlone = place.days.length === 0
    const imported = isAlone ? NONE : await importedDays(db, place)
    const seen = isAlone ? NONE : await seenInOtherBills(db, place, facts.map(keyOf))
    const absent = facts
      .map((fact, at) => ({ fact, days: elsewhere[at] ?? [] }))
      .filter(({ fact }) => !seen.has(keyOf(fact)))
    const judged = absent.filter(({ days }) => days.every((day) => imported.has(day)))
    yield { findings: judged.map(({ fact }) => findingOf(fact)), notJudged: absent.length - judged.length }
  }
}

const NONE: ReadonlySet<string> = new Set()

/** As `bill_seen` has it. What was refunded so far is seen by any refund of its payment. */
const keyOf = ({ what, ref, paymentRef, amountKind }: AbsentFact) =>
  amountKind === 'cumulative' ? `refund-of/${paymentRef ?? ''}` : `${what}/${ref}`

/** As the provider writes it, to be looked for in a line that could not be read. */
const numberOf = ({ ref, paymentRef, amountKind }: AbsentFact, { refPrefix }: BillFormat) => {
  const named = (amountKind === 'cumulative' ? (paymentRef ?? ref) : ref).slice(refPrefix.length)
  return named.split('/')[0] ?? named
}

function otherDays({ what, amountKind, atMs }: AbsentFact, day: string, { refundDaysMax }: BillFormat): string[] {
  const backDays = what === 'refund' && amountKind !== 'cumulative' ? refundDaysMax : 0
  return daysOfFact(atMs, backDays).filter((other) => other !== day)
}

const findingOf = ({ what, outTradeNo, ref, paymentRef, amountMinor, currency, amountKind, atMs }: AbsentFact) =>
  ({
    ...{ finding: 'not_there', state: 'open', what, outTradeNo, ref, paymentRef, askRef: null, there: null },
    here: { amountMinor, currency, status: amountKind === 'cumulative' ? 'refunded so far' : 'succeeded', atMs },
    ...{ file: null, line: null, detail: 'no bill of a day that may have it has it' },
  }) satisfies BillFinding

import { createHash } from 'node:crypto'

export const FINDINGS = ['missing', 'duplicate', 'amount_mismatch', 'extra', 'late'] as const
export type FindingKind = (typeof FINDINGS)[number]

/** One thing that is not as it should be, named so that a person can go and look. */
export interface Finding {
  readonly finding: FindingKind
  /** Where it was seen: an order's rows in Postgres, or a partition of an output topic. */
  readonly in: 'orders' | 'topics'
  readonly merchant: string | null
  readonly outTradeNo: string | null
  readonly eventId: string | null
  readonly kind: string | null
  /** Without the installation's prefix. */
  readonly topic: string | null
  readonly lane: number | null
  readonly laneSeq: number | null
  readonly offset: number | null
  readonly detail: string
}

/** A run names so many of its lanes', and so many of its orders'. */
export const FINDINGS_SHOWN_MAX = 10_000

/** As it is kept. */
export const stored = (finding: Finding) => ({ lane: finding.lane, finding: finding.finding, document: finding })

export const NAMELESS = {
  ...{ merchant: null, outTradeNo: null, eventId: null, kind: null },
  ...{ topic: null, lane: null, laneSeq: null, offset: null },
}

const TEXT_MAX = 300

/**
 * What a stranger wrote, for a finding: a megabyte of it is named by its beginning and its hash, and the zero byte, which
 * Postgres' jsonb does not take, is written out.
 */
export function bounded(text: string): string {
  if (text.length <= TEXT_MAX) return text.replaceAll('\0', '\\0').toWellFormed()
  const sha = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return `${bounded(text.slice(0, TEXT_MAX))}… (${text.length} characters, SHA-256 ${sha}…)`
}

/** One line that has all of it but the offset: a copy of a topic has others, and is the same data. */
export const lineOf = ({
  finding,
  merchant,
  outTradeNo,
  eventId,
  kind,
  topic,
  lane,
  laneSeq,
  detail,
}: Finding): string => JSON.stringify([finding, merchant, outTradeNo, eventId, kind, topic, lane, laneSeq, detail])

export type Counts = Record<FindingKind, number>
export const noCounts = (): Counts => ({ missing: 0, duplicate: 0, amount_mismatch: 0, extra: 0, late: 0 })

/** A run of records and the offset after its last one, gaps included. */
export interface Part<Record> {
  readonly records: readonly Record[]
  readonly end: number
}

/** What a part's two transactions came to. */
export type PartOutcome =
  | { readonly kind: 'done' }
  /** The part was rolled back because of one record's data. */
  | { readonly kind: 'guilty'; readonly detail: string }
  /** Stop here; what was done so far is a prefix and stays done. */
  | { readonly kind: 'stopped'; readonly why: 'interrupted' | 'flooded' }

/**
 * Runs a batch; when a record's own data makes it fail, finds that record and lets the others through. Left to right,
 * each part with its own two transactions, so that `applied_offset` stays a prefix of the log.
 * @param run does a part's two transactions
 * @param bury what a guilty record becomes: a dead letter
 * @returns `guilty` only when a buried record fails too: that is nobody's data any more.
 */
export async function runInParts<Record extends { readonly offset: number }>(
  batch: Part<Record>,
  run: (part: Part<Record>) => Promise<PartOutcome>,
  bury: (record: Record, detail: string) => Record,
): Promise<PartOutcome> {
  const waiting: Part<Record>[] = [batch] // the leftmost last
  for (;;) {
    const part = waiting.pop()
    if (part === undefined) return { kind: 'done' }
    const outcome = await run(part)
    if (outcome.kind === 'done') continue
    if (outcome.kind === 'stopped') return outcome
    const [only, second] = part.records
    if (only === undefined) return outcome
    if (second === undefined) {
      const buried = await run({ records: [bury(only, outcome.detail)], end: part.end })
      if (buried.kind !== 'done') return buried
      continue
    }
    const { left, right } = halves(part)
    waiting.push(right, left)
  }
}

function halves<Record extends { readonly offset: number }>({ records, end }: Part<Record>) {
  const middle = records.length >> 1
  const first = records[middle]
  if (first === undefined) throw new Error('a part of fewer than two records has no halves')
  return {
    left: { records: records.slice(0, middle), end: first.offset },
    right: { records: records.slice(middle), end },
  }
}

import { REBUILT_REASONS } from '../store/judge-rebuild.ts'
import type { LaneRow } from '../store/lane-row.ts'
import { explainFailure } from './explain-failure.ts'
import { CliFailure, EXIT } from './failure.ts'
import type { RebuildResult } from './rebuild-ledger.ts'
import { table, type Output } from './render.ts'
import { sayRebuilt } from './say-rebuilt.ts'

export interface LanesRequest {
  readonly one: (row: LaneRow, isDry: boolean) => Promise<RebuildResult>
  /** As it is now. @throws CliFailure there is none */
  readonly laneOf: (lane: number) => Promise<LaneRow>
  readonly fromStart: boolean
  /** All were meant: what is not halted is not mentioned. */
  readonly isAll: boolean
  readonly dryRun: boolean
  /** Undefined: nobody is to be asked. */
  readonly confirm?: (question: string) => Promise<void>
}

interface Line {
  readonly json: { readonly lane: number; readonly result: string; readonly [field: string]: unknown }
  /** Undefined: the row of the table says it all. */
  readonly text: string | undefined
  readonly state: 'done' | 'refused' | 'undecided'
}

/** @returns why a lane may not be rebuilt; undefined: it may */
export function refusalOf({ lane, halted }: LaneRow, fromStart: boolean): CliFailure | undefined {
  if (halted === undefined)
    return new CliFailure(
      EXIT.findings,
      `Lane ${lane} is not halted.`,
      'A lane without traffic looks when its processor starts: restart that, and rebuild the lane if it halts.',
    )
  const reasons: readonly string[] = fromStart ? [...REBUILT_REASONS, 'applied_above_log'] : REBUILT_REASONS
  if (reasons.includes(halted.reason)) return undefined
  return new CliFailure(
    EXIT.findings,
    `Lane ${lane} is halted by ${halted.reason}, which is not about its ledger.`,
    'Its remedy: paidonce lane status',
  )
}

/**
 * Rebuilds lanes one after another, each as if it were the only one: what becomes of one is nothing to the others. Only
 * a failure ends it (Kafka or Postgres is away): the rest is left as it is. Whoever is asked is shown first what each
 * would become, of a run that changes nothing.
 */
export async function rebuildLanes(lanes: readonly number[], request: LanesRequest): Promise<Output> {
  const rows: LaneRow[] = []
  for (const lane of lanes) rows.push(await request.laneOf(lane))
  const wanted = request.isAll ? rows.filter(({ halted }) => halted !== undefined) : rows
  if (wanted.length === 0) return { json: { lanes: [] }, text: 'No lane is halted.' }
  if (!request.dryRun && request.confirm !== undefined) {
    const planned = await eachOf(wanted, { ...request, dryRun: true })
    await request.confirm(
      `${textOf(planned)}\nWrite these ledgers anew, from the output topics, and resume their lanes?`,
    )
  }
  const lines = await eachOf(wanted, request)
  return {
    json: { lanes: lines.map(({ json }) => json) },
    text: textOf(lines),
    findings: lines.some(({ state }) => state === 'refused'),
    undecided: lines.some(({ state }) => state === 'undecided'),
  }
}

async function eachOf(rows: readonly LaneRow[], { one, laneOf, fromStart, dryRun }: LanesRequest): Promise<Line[]> {
  const lines: Line[] = []
  let isOver = false
  for (const { lane } of rows)
    if (isOver) lines.push({ json: { lane, result: 'not_tried' }, text: undefined, state: 'undecided' })
    else
      try {
        const row = await laneOf(lane) // as it is by now: the lanes before may have taken a while
        const refusal = refusalOf(row, fromStart)
        if (refusal === undefined) lines.push(lineOf(lane, await one(row, dryRun)))
        else lines.push(refused(lane, refusal, 'refused'))
      } catch (error) {
        isOver = true
        lines.push(refused(lane, explainFailure(error), 'failed'))
      }
  return lines
}

function lineOf(lane: number, result: RebuildResult): Line {
  const { json, text, undecided = false } = sayRebuilt(lane, result)
  return {
    json: json as Line['json'],
    ...(undecided ? { text, state: 'undecided' } : { text: undefined, state: 'done' }),
  }
}

const refused = (lane: number, { message, remedy }: CliFailure, result: 'refused' | 'failed'): Line => ({
  json: { lane, result, detail: message },
  text: [message, ...(remedy === undefined ? [] : [remedy])].join('\n'),
  state: result === 'refused' ? 'refused' : 'undecided',
})

function textOf(lines: readonly Line[]): string {
  const rows = lines.map(({ json: { lane, result, ledger, before, imported, sent_again: sent } }) => [
    ...[lane, result, cellOf(ledger), cellOf(before), cellOf(imported)],
    cellOf(
      sent === undefined ? undefined : Object.values(sent as Record<string, number>).reduce((sum, n) => sum + n, 0),
    ),
  ])
  const head = ['lane', 'result', 'ledger', 'it was', 'imported', 'sent again']
  return [table(head, rows), ...lines.flatMap(({ text }) => (text === undefined ? [] : [text]))].join('\n')
}

const cellOf = (value: unknown) => (typeof value === 'number' ? value : '')

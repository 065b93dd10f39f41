import type { LaneRow } from './tables.ts'
import { num, only, text } from './params.ts'

type Values = readonly unknown[]
export type Condition = (row: LaneRow, values: Values) => boolean
export type Assignment = (row: LaneRow, values: Values) => Partial<LaneRow>

const VALUE = String.raw`\(\$(\d+)::int\d\[\]\)\[1\]`
const COLUMNS = {
  next_seq: 'nextSeq',
  applied_offset: 'appliedOffset',
  previous_offset: 'previousOffset',
  settled_seq: 'settledSeq',
  brake_version: 'brakeVersion',
  owner_deaths: 'ownerDeaths',
  suspect_deaths: 'suspectDeaths',
  suspect_offset: 'suspectOffset',
} as const satisfies Record<string, keyof LaneRow>
type Column = keyof typeof COLUMNS

const at = (values: Values, index: string | undefined) => num(only(values[Number(index) - 1]))
const columnOf = (name: string | undefined): (typeof COLUMNS)[Column] => {
  const found = COLUMNS[name as Column] as (typeof COLUMNS)[Column] | undefined
  if (found === undefined) throw new Error(`lanes.${String(name)} is not simulated`)
  return found
}

type Reading<T> = readonly [RegExp, (...parts: string[]) => T]
function read<T>(what: string, readings: readonly Reading<T>[]): T {
  for (const [pattern, make] of readings) {
    const match = new RegExp(`^(?:${pattern.source})$`).exec(what)
    if (match !== null) return make(...match.slice(1))
  }
  throw new Error(`the simulated Postgres does not understand: ${what}`)
}

const CONDITIONS: readonly Reading<Condition>[] = [
  [/topic = \$(\d+)::text/, (index) => (row, values) => row.topic === text(values[Number(index) - 1])],
  [new RegExp(`lane = ${VALUE}`), (index) => (row, values) => row.lane === at(values, index)],
  [new RegExp(`(\\w+) >= ${VALUE}`), (name, index) => (row, values) => num(row[columnOf(name)]) >= at(values, index)],
  [new RegExp(`(\\w+) = ${VALUE}`), (name, index) => (row, values) => row[columnOf(name)] === at(values, index)],
  [/halted_reason is null/, () => (row) => row.haltedReason === null],
]

const ASSIGNMENTS: readonly Reading<Assignment>[] = [
  [
    new RegExp(`(\\w+) = \\1 \\+ ${VALUE}`),
    (name, index) => (row, values) => {
      const column = columnOf(name)
      return { [column]: num(row[column]) + at(values, index) }
    },
  ],
  [
    new RegExp(`(\\w+) = greatest\\(\\1, ${VALUE}\\)`),
    (name, index) => (row, values) => {
      const column = columnOf(name)
      return { [column]: Math.max(num(row[column]), at(values, index)) }
    },
  ],
  [new RegExp(`(\\w+) = ${VALUE}`), (name, index) => (_, values) => ({ [columnOf(name)]: at(values, index) })],
  [/(\w+) = (applied_offset)/, (name, from) => (row) => ({ [columnOf(name)]: row[columnOf(from)] })],
  [
    new RegExp(`(\\w+) = case when ${VALUE} > ${VALUE} then (0|null) else \\1 end`),
    (name, end, next, cleared) => (_, values) =>
      at(values, end) > at(values, next) ? { [columnOf(name)]: cleared === 'null' ? null : 0 } : {},
  ],
  [
    /dead_letter_offsets = case when \$(\d+)::int8\[\] = '\{\}' then dead_letter_offsets else array\( select o from unnest\(dead_letter_offsets \|\| \$\d+::int8\[\]\) o where o >= \(\$(\d+)::int8\[\]\)\[1\] - (\d+) order by o desc limit (\d+)\) end/,
    (added, end, window, limit) => (row, values) => {
      const offsets = floodsIn(values, added)
      if (offsets.length === 0) return {}
      const least = at(values, end) - Number(window)
      const kept = [...row.floods, ...offsets].filter((offset) => offset >= least)
      return { floods: kept.sort((a, b) => b - a).slice(0, Number(limit)) }
    },
  ],
  [/updated_at = now\(\)/, () => () => ({})],
]

function floodsIn(values: Values, index: string | undefined): number[] {
  const value = values[Number(index) - 1]
  if (!Buffer.isBuffer(value) || value.readInt32BE(0) === 0) return []
  return Array.from({ length: value.readInt32BE(12) }, (_, at) => Number(value.readBigInt64BE(24 + at * 12)))
}

const flat = (sql: string) => sql.replaceAll(/\s+/g, ' ').trim()

/** Commas between assignments only, not within their brackets. */
function parts(list: string): string[] {
  const found: string[] = []
  let depth = 0
  let from = 0
  for (let index = 0; index < list.length; index++) {
    const char = list[index]
    if (char === '(' || char === '[') depth++
    if (char === ')' || char === ']') depth--
    if (char !== ',' || depth > 0) continue
    found.push(list.slice(from, index).trim())
    from = index + 1
  }
  return [...found, list.slice(from).trim()]
}

/** The conditions of a `where` on `lanes`, as the statement's text has them: what is missing there is missing here. */
export const conditionsIn = (where: string): readonly Condition[] =>
  flat(where)
    .split(' and ')
    .map((each) => read(each, CONDITIONS))

/** An `update lanes set … where …`, read from the statement itself, so that the guard is the product's and not a copy. */
export function readLaneUpdate(sql: string): {
  readonly set: readonly Assignment[]
  readonly where: readonly Condition[]
} {
  const [, set = '', where = ''] = /update lanes set (.*?) where (topic = .*?) returning /s.exec(flat(sql)) ?? []
  return { set: parts(set).map((each) => read(each, ASSIGNMENTS)), where: conditionsIn(where) }
}

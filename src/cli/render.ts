import { styleText } from 'node:util'
import Table from 'cli-table3'
import { printable as printableText } from '../runtime/printable.ts'

/** What a verb found: the same content for programs and for people. */
export interface Output {
  readonly json: unknown
  readonly text: string
  /** Only of verbs that say that they have it. */
  readonly csv?: string
  /** True ends the program with 1: it worked, and there is something to look at. */
  readonly findings?: boolean
  /** True ends it with 3, unless there are findings: something could not be looked at. */
  readonly undecided?: boolean
}
export type Format = 'json' | 'table' | 'csv'
type Cell = string | number | boolean | null | undefined
/** Several lines of our own in one cell; a line feed inside of a value is not trusted. */
type Lines = readonly Cell[]

/** Values come from other people's systems. */
export const printable = (value: Cell): string => printableText(String(value ?? ''))

/** No colour and no width of the terminal: a table reads the same in a file. */
export function table(head: readonly string[], rows: readonly (readonly (Cell | Lines)[])[]): string {
  if (rows.length === 0) return '(none)'
  const made = new Table({ head: [...head], style: { head: [], border: [] } })
  for (const row of rows)
    made.push(row.map((cell) => (isLines(cell) ? cell.map(printable).join('\n') : printable(cell))))
  return made.toString()
}

const isLines = (cell: Cell | Lines): cell is Lines => Array.isArray(cell)

/** One `name  value` per line; what is null or undefined is left out. */
export function listing(pairs: Readonly<Record<string, Cell>>): string {
  const shown = Object.entries(pairs).filter(([, value]) => value !== null && value !== undefined)
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n')
}

/** Red on a terminal; plain in a file, and wherever NO_COLOR is set. */
export const alarming = (text: string, stream: NodeJS.WriteStream = process.stderr) =>
  styleText('red', text, { stream, validateStream: true })

export const isoOf = (timeMs: number | null): string | null => (timeMs === null ? null : new Date(timeMs).toISOString())

import { printable } from './render.ts'

type Cell = string | number | null

/** Spreadsheets set for Chinese take the wide signs too. */
const FORMULA = /^[ \u3000]*[=+\-@＝＋－＠]/

/**
 * RFC 4180, with a line of titles. What a spreadsheet would take for a formula gets an apostrophe: order numbers and
 * names come from other people's systems.
 */
export const csv = (head: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [head, ...rows].map((row) => row.map(cellOf).join(',')).join('\r\n')

function cellOf(value: Cell): string {
  if (typeof value === 'number' || value === null) return String(value ?? '')
  const text = printable(value)
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Every public report that was looked at, by kind. A number is left out where it repeats another. */
const REPORTS = {
  SIG: [1, 3, 8, 9, 10, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 25, 28],
  ENC: [1, 2, 3, 4, 5, 6, 9, 11, 13],
  PRB: [1, 2, 3, 6],
  DEC: [1, 3, 4, 6, 7, 9, 11],
  XML: [1, 3, 4, 6],
  AMT: [1, 3, 5, 6, 8, 10],
  DUP: [1, 3, 5, 7, 10, 11, 12],
  ORD: [1, 2, 4, 5, 8],
  REF: [1, 3, 5, 6, 8, 9, 10, 11],
  RSP: [1, 3, 5, 6, 7, 8, 9, 11, 12],
  CRT: [1, 3, 4, 5, 6, 7, 12, 13, 14],
  CLK: [1, 2, 4, 5, 6, 8],
  UNK: [1, 3, 5],
  MEM: [1, 2, 4],
}
const IDS = Object.entries(REPORTS).flatMap(([kind, numbers]) =>
  numbers.map((number) => `${kind}-${String(number).padStart(2, '0')}`),
)
/** Those about orders, money that goes back, duplicates, what comes early, again, or grows: played through everything. */
const WHOLE = ['DUP', 'ORD', 'REF', 'UNK', 'MEM'].flatMap((kind) => IDS.filter((id) => id.startsWith(kind)))
const PLAYED = [...WHOLE, 'AMT-06', 'AMT-08', 'AMT-10', 'RSP-12', 'CLK-01', 'CLK-02']

const TEST = join(import.meta.dirname, '..')
const page = readFileSync(join(TEST, '../docs/known-traps.md'), 'utf8')
/** id → files that the page names for it. */
const ROWS = new Map(
  [...page.matchAll(/^\| \[([A-Z]{3}-\d\d)\]\(https:\S+\)(.*)$/gm)].map(([, id = '', rest = '']) => [
    id,
    [...(rest.split('|').at(-2) ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
  ]),
)

test('docs/known-traps.md has each of the 98 reports, once', () => {
  expect(IDS).toHaveLength(98)
  expect([...ROWS.keys()]).toHaveLength([...page.matchAll(/^\| \[/gm)].length)
  expect([...ROWS.keys()].sort()).toEqual(IDS.toSorted())
})

test('and each has a test, which is where the page says', () => {
  const wrong = [...ROWS].flatMap(([id, files]) => {
    const missing = files.filter((file) => !isTested(id, join(TEST, file))).map((file) => `${id} is not in ${file}`)
    return files.length === 0 ? [`${id} has no test`] : missing
  })
  expect(wrong).toEqual([])
})

test('what is about an order’s life is played through the whole system', () => {
  const without = PLAYED.filter((id) => !(ROWS.get(id) ?? []).some((file) => file.startsWith('issues/')))
  expect(without).toEqual([])
})

/** In the title of a test, or in the table of its cases. */
const isTested = (id: string, file: string) =>
  existsSync(file) && new RegExp(`['"\`][^'"\`\n]*\\b${id}\\b`).test(readFileSync(file, 'utf8'))

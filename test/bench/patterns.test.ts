import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readOptions } from '../../bench/patterns/options.ts'
import { leakOf } from '../../bench/patterns/play.ts'
import { writeTable } from '../../bench/patterns/table.ts'

test('a shipment too many is counted though it comes after all orders are shipped', async () => {
  const shipped = new Map([
    ['A', 1],
    ['B', 1],
  ])
  const system = {
    settled: () => {
      shipped.set('B', 3)
      return Promise.resolve()
    },
    shipped: () => Promise.resolve(new Map(shipped)),
  }
  expect(await leakOf(system, ['A', 'B', 'C'])).toEqual({ orders: 3, doubled: 2, lost: 1 })
})

test('options that make no sense are refused before anything is played, and no table is overwritten by a part', () => {
  const mistakes = [
    ['--orders', 'x'],
    ['--kills', '0'],
    ['--failovers=-1'],
    ['--seed', '1.5'],
    ['--only', 'nothing'],
    ['--only', 'Redis lock', '--write'],
  ].map((args) => readOptions(args))
  for (const one of mistakes) expect(one).toHaveProperty('mistake')
  expect(readOptions(['--help'])).toBe('help')
  expect(readOptions(['--only', 'Redis lock'])).toMatchObject({ names: ['Redis lock'], orders: 500, write: false })
})

test('the table says how it came about, and stands where the last one stood', () => {
  const dir = mkdtempSync(join(tmpdir(), 'patterns-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const document = join(dir, 'patterns.md')
  copyFileSync(join(import.meta.dirname, '../../docs/patterns.md'), document)
  writeTable('| new |', 'Seed 7, commit abc.', document)
  const text = readFileSync(document, 'utf8')
  expect(text).toContain('\n\n| new |\n\nSeed 7, commit abc.\n\n<!-- end of table -->')
  expect(text.match(/^\|.*callbacks\/s \|$/gm)).toBeNull()
})

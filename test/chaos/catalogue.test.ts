import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { drawFaults, FAULTS } from '../../chaos/faults/catalogue.ts'
import { writeSection } from '../../chaos/write-report.ts'
import { randomOf } from '../../src/simulator/random.ts'

const draws = (seed: number, cycles: number) => {
  const draw = drawFaults(randomOf(seed), FAULTS)
  return Array.from({ length: cycles }, draw)
}

test('the same seed draws the same faults, another seed others', () => {
  const kinds = (seed: number) => draws(seed, 50).map((faults) => faults.map(({ kind }) => kind))
  expect(kinds(1)).toEqual(kinds(1))
  expect(kinds(1)).not.toEqual(kinds(2))
})

test('every kind comes before any comes again', () => {
  const drawn: string[] = []
  const draw = drawFaults(randomOf(3), FAULTS)
  while (drawn.length < FAULTS.length) drawn.push(...draw().map(({ kind }) => kind))
  expect(drawn.toSorted()).toEqual(FAULTS.map(({ kind }) => kind).toSorted())
})

test('two at once are of two groups, and neither wants to be alone', () => {
  const pairs = draws(5, 500).filter(({ length }) => length === 2)
  expect(pairs.length).toBeGreaterThan(50)
  for (const [one, two] of pairs) {
    expect(one?.group).not.toBe(two?.group)
    expect([one?.isAlone, two?.isAlone]).not.toContain(true)
  }
})

test('a table takes the place of an older one of its name, and comes after the mark of its kind when it is new', () => {
  const dir = mkdtempSync(join(tmpdir(), 'report-'))
  try {
    const file = join(dir, 'a.md')
    writeFileSync(file, 'before\n\n<!-- chaos: runs follow -->\n\nafter\n')
    writeSection('chaos-7', 'old', file)
    writeSection('chaos-8', 'other', file)
    writeSection('chaos-7', 'new', file)
    const text = readFileSync(file, 'utf8')
    expect(text).not.toContain('old')
    expect(text.indexOf('other')).toBeLessThan(text.indexOf('new'))
    expect(text.startsWith('before\n\n<!-- chaos: runs follow -->\n')).toBe(true)
    expect(text.endsWith('\nafter\n')).toBe(true)
    expect(() => writeSection('other', 'x', file)).toThrow('no place')
  } finally {
    rmSync(dir, { recursive: true })
  }
})

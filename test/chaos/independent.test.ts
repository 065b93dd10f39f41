import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, test } from 'vitest'
import { importsOf } from '../helpers/import-rules.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const CHECKER = 'chaos/checker'

/** Imports that leave the checker's folder; avsc reads Avro, which is not ours. */
function leaving(file: string, text: string): string[] {
  return importsOf(text)
    .map(({ from }) => (from.startsWith('.') ? posix.join(posix.dirname(file), from) : from))
    .filter((from) => !from.startsWith(`${CHECKER}/`) && !from.startsWith('node:') && from !== 'avsc')
}

test('the checker imports nothing of the product, nor of what plays it', () => {
  const files = globSync(`${CHECKER}/**/*.ts`, { cwd: ROOT })
  expect(files.length).toBeGreaterThan(20)
  expect(files.flatMap((file) => leaving(file, readFileSync(join(ROOT, file), 'utf8')))).toEqual([])
})

test.each([
  [`import { decideBatch } from '../../src/orders/decide-batch.ts'`, 'src/orders/decide-batch.ts'],
  [`import type { Fact } from '../../src/orders/model.ts'`, 'src/orders/model.ts'],
  [`import { javaRead } from '../../dev/parts/java-topics.ts'`, 'dev/parts/java-topics.ts'],
  [`const pg = await import('pg')`, 'pg'],
])('a planted import is found: %s', (line, target) => {
  expect(leaving(`${CHECKER}/a.ts`, line)).toEqual([target])
})

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf, importViolations } from './helpers/import-rules.ts'

const ROOT = join(import.meta.dirname, '..')

function sourcesOnDisk(): Map<string, string> {
  const files = globSync('src/**/*.{ts,tsx,mts,cts,js,mjs,cjs}', { cwd: ROOT })
  return new Map(files.map((file) => [file.replaceAll('\\', '/'), readFileSync(join(ROOT, file), 'utf8')]))
}

test('imports point one way', () => {
  const sources = sourcesOnDisk()
  expect(sources.size).toBeGreaterThan(10)
  expect(importViolations(sources)).toEqual([])
})

describe('a planted import is found:', () => {
  const planted: readonly (readonly [file: string, line: string, what: string])[] = [
    ['src/orders/a.ts', `import { createPool } from '../runtime/postgres.ts'`, 'orders imports runtime'],
    ['src/orders/a.ts', `import { readFileSync } from 'node:fs'`, 'orders is pure'],
    ['src/runtime/a.ts', `import { migrate } from '../store/migrate.ts'`, 'runtime imports store'],
    ['src/runtime/kafka/a.ts', `import type { X } from '../../gateway/start.ts'`, 'runtime imports gateway'],
    ['src/schemas/a.ts', `import { STATUSES } from '../orders/model.ts'`, 'schemas imports orders'],
    ['src/store/a.ts', `import { verify } from '../providers/verify.ts'`, 'store imports providers'],
    ['src/store/a.ts', `import type { Lane } from '../processor/lane.ts'`, 'store imports processor'],
    ['src/gateway/a.ts', `import { migrate } from '../store/migrate.ts'`, 'it has no database'],
    ['src/gateway/a.ts', `import type { Row } from '../store/event-row.ts'`, 'it has no database'],
    ['src/gateway/deep/a.ts', `import {\n  start,\n} from '../../api/start.ts'`, 'gateway imports api'],
    ['src/api/a.ts', `import type { Lane } from '../processor/lane.ts'`, 'api imports processor'],
    ['src/api/a.ts', `const x = await import('../simulator/start.ts')`, 'api imports simulator'],
    ['src/cli/a.ts', `import { lane } from '../processor/lane.ts'`, 'cli imports processor'],
    ...['gateway', 'processor', 'api', 'simulator', 'cli'].map(
      (folder) =>
        [
          ...[`src/${folder}/a.ts`, `import { loadQueryClients } from '../providers/query-clients.ts'`],
          "which reads the merchants' private keys",
        ] as [string, string, string],
    ),
    ['src/api/a.ts', `const x = await import('../providers/alipay/query-config.ts')`, 'private keys'],
    ['src/cli/a.ts', `const x = await import('../reconcile/bill/fetch/start.ts')`, 'starts with'],
    ['src/cli/a.ts', `import { startReconciler } from '../reconcile/start.ts'`, 'starts with'],
    ['src/processor/a.ts', `import { Kafka } from 'kafkajs'`, 'only src/runtime/kafka'],
    ['src/processor/a.ts', `import 'kafkajs/src/network/requestQueue'`, 'only src/runtime/kafka'],
    ['src/runtime/a.ts', `const k = require('kafkajs')`, 'only src/runtime/kafka'],
    ['src/runtime/a.ts', `import { until } from '../../test/helpers/until.ts'`, 'not part of src'],
    ['src/store/index.ts', `export const x = 1`, 'no index.ts'],
    ['src/store/all.ts', `export * from './a.ts'\nexport { b } from './b.ts'`, 'only re-exports'],
    ['src/utils/a.ts', `export const x = 1`, 'no place in the layers'],
  ]
  test.each(planted)('%s: %s', (file, line, what) => {
    expect(importViolations(new Map([[file, `${line}\n`]]))).toEqual([expect.stringContaining(what)])
  })
})

describe('what is allowed passes:', () => {
  const allowed: readonly (readonly [file: string, line: string])[] = [
    ['src/schemas/a.ts', `import type { Fact } from '../orders/model.ts'`],
    ['src/runtime/kafka/a.ts', `import { Kafka } from 'kafkajs'`],
    ['src/runtime/kafka/a.ts', `import { describeError } from '../log.ts'`],
    ['src/orders/a.ts', `import { createHash } from 'node:crypto'`],
    ['src/store/a.ts', `import { type Fact, STATUSES } from '../orders/model.ts'`],
    ['src/gateway/a.ts', `import { verify } from '../providers/verify.ts'`],
    ['src/cli/a.ts', `import { startApi } from '../api/start.ts'`],
    ['src/cli/a.ts', `const x = await import('../reconcile/audit/start.ts')`],
    ['src/cli/bill-import.ts', `const x = await import('../reconcile/bill/fetch/start.ts')`],
    ['src/api/a.ts', `import type { QueryClients } from '../providers/query-clients.ts'`],
    ['src/processor/a.ts', `// import { Kafka } from 'kafkajs'\n/* import '../api/a.ts' */`],
  ]
  test.each(allowed)('%s: %s', (file, line) => {
    expect(importViolations(new Map([[file, `${line}\n`]]))).toEqual([])
  })
})

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>

test('package.json asks at run time for what src imports, and for nothing else', () => {
  const specifiers = [...sourcesOnDisk().values()].flatMap((text) => importsOf(text).map(({ from }) => from))
  const packages = specifiers.flatMap((from) => /^(?:@[^/]+\/)?[^./][^/:]*(?=\/|$)/.exec(from)?.[0] ?? [])
  expect([...new Set(packages)].sort()).toEqual(Object.keys(manifest.dependencies).sort())
})

test('docs/dependencies.md says why each package is there', () => {
  const docs = readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8')
  const firstCells = [...docs.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
    cell.split(/, | with | and | (?=\d)/),
  )
  const packages = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
  const named = firstCells.filter((cell) => cell !== 'package' && !/^\d/.test(cell))
  expect(named.sort()).toEqual(packages.filter((name) => !name.startsWith('@types/')).sort())
})

test('every form of an import line is read', () => {
  const text = `import a from './a.ts'\nimport * as b from "./b.ts"\nexport type { C } from './c.ts'\nimport './d.ts'\nimport {\n  type E,\n} from './e.ts'`
  expect(importsOf(text).map(({ from, typeOnly }) => `${from} ${typeOnly ? 'type' : 'value'}`)).toEqual([
    './a.ts value',
    './b.ts value',
    './c.ts type',
    './e.ts type',
    './d.ts value',
  ])
})

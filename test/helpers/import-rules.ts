import { posix } from 'node:path'

/** A source file's path from the project's root, and its text. */
export type Sources = ReadonlyMap<string, string>

const BOTTOM = ['schemas', 'runtime', 'orders']
const MIDDLE = ['providers', 'store']
const PROCESSES = ['gateway', 'processor', 'api', 'reconcile', 'simulator', 'cli']
/** Lower may not import higher; folders of one layer do not import one another. */
const LAYER = new Map([
  ...BOTTOM.map((folder) => [folder, 0] as const),
  ...MIDDLE.map((folder) => [folder, 1] as const),
  ['consumer', 2] as const,
  ...PROCESSES.map((folder) => [folder, 3] as const),
  ['console', 4] as const,
])
/** What the cli may import of another process: how it is started, and what it must be told. */
const STARTS = /\/(start|main|config)\.ts$/
/** What reads the merchants' private keys, and what of the reconciler does so when it is called. */
const READS_KEYS = /^src\/providers\/(query-clients|query-registry|watch-query-clients|[^/]+\/query-config)\.ts$/
const STARTS_WITH_KEYS = /^src\/reconcile\/(?!audit\/|bill\/start\.ts$).*$/
/** An operator's own runs of it: a bill is fetched and asked about, the environment is checked. */
const VERBS_WITH_KEYS = ['src/cli/bill-import.ts', 'src/cli/check-environment.ts']
/** Pure: no I/O and no clock. Hashes are arithmetic. */
const ORDERS_MAY_IMPORT = ['node:crypto']

interface Import {
  readonly from: string
  readonly typeOnly: boolean
  readonly reExport: boolean
}

/** Every rule of ARCHITECTURE's "where the code lives" that an import line can break, as `file: what is wrong`. */
export function importViolations(sources: Sources): string[] {
  const found: string[] = []
  for (const [file, text] of sources) {
    const folder = folderOf(file)
    if (folder !== undefined && !LAYER.has(folder)) found.push(`${file}: src/${folder} has no place in the layers`)
    if (posix.basename(file) === 'index.ts') found.push(`${file}: no index.ts`)
    const imports = importsOf(text)
    if (
      imports.length > 0 &&
      imports.every((line) => line.reExport) &&
      !/^export (?!type )?(const|function|class|interface|async|let)/m.test(text)
    )
      found.push(`${file}: only re-exports`)
    for (const line of imports) {
      const wrong = line.from.startsWith('.') ? relativeRule(file, line) : packageRule(file, line.from)
      if (wrong !== undefined) found.push(`${file}: ${wrong}`)
    }
  }
  return found
}

function relativeRule(file: string, { from, typeOnly }: Import): string | undefined {
  const target = posix.join(posix.dirname(file), from)
  if (!target.startsWith('src/')) return `imports ${target}, which is not part of src`
  const [mine, theirs] = [folderOf(file), folderOf(target)]
  if (!typeOnly && READS_KEYS.test(target) && mine !== 'providers' && mine !== 'reconcile')
    return `imports ${target}, which reads the merchants' private keys: only src/reconcile does`
  if (!typeOnly && mine === 'cli' && STARTS_WITH_KEYS.test(target) && !VERBS_WITH_KEYS.includes(file))
    return `imports ${target}, which starts with the merchants' private keys`
  if (mine === undefined || theirs === undefined || mine === theirs) return undefined
  const [my, their] = [LAYER.get(mine) ?? 0, LAYER.get(theirs) ?? 0]
  if (mine === 'gateway' && theirs === 'store') return 'gateway imports store: it has no database'
  if (their < my) return undefined
  if (my === 0 && their === 0 && typeOnly) return undefined
  if (mine === 'cli' && PROCESSES.includes(theirs) && STARTS.test(target)) return undefined
  return `${mine} imports ${theirs} (${from})`
}

function packageRule(file: string, from: string): string | undefined {
  if (/^kafkajs(\/|$)/.test(from) && !file.startsWith('src/runtime/kafka/'))
    return 'imports kafkajs: only src/runtime/kafka does'
  if (folderOf(file) === 'orders' && !ORDERS_MAY_IMPORT.includes(from)) return `orders is pure, but imports ${from}`
  return undefined
}

/** The folder of src that a file lies in; undefined for a file that lies in src itself. */
function folderOf(file: string): string | undefined {
  const parts = file.split('/')
  return parts.length > 2 ? parts[1] : undefined
}

/** Static imports and re-exports, `import('x')`, `require('x')`, `require.resolve('x')`, of code without its comments. */
export function importsOf(text: string): Import[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '')
  const found: Import[] = []
  for (const [, keyword, clause = '', from = ''] of code.matchAll(
    /^\s*(import|export)\b([^'"`;()]*?)\bfrom\s*['"]([^'"]+)['"]/gm,
  ))
    found.push({ from, typeOnly: isTypeOnly(clause), reExport: keyword === 'export' })
  for (const [, from = ''] of code.matchAll(/^\s*import\s*['"]([^'"]+)['"]/gm))
    found.push({ from, typeOnly: false, reExport: false })
  for (const [, from = ''] of code.matchAll(/\b(?:import|require|require\.resolve)\s*\(\s*['"]([^'"]+)['"]/g))
    found.push({ from, typeOnly: false, reExport: false })
  return found
}

/** `import type …`, or braces in which every name says `type`. */
function isTypeOnly(clause: string): boolean {
  if (/^\s*type\b/.test(clause)) return true
  const names = /^\s*\{([^}]*)\}\s*$/
    .exec(clause)?.[1]
    ?.split(',')
    .filter((name) => name.trim() !== '')
  return names !== undefined && names.length > 0 && names.every((name) => /^\s*type\s/.test(name))
}

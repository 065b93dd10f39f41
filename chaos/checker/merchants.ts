import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A key of docs/merchants.md: a file's name, or the name with its end. */
type KeyFile = string | { readonly file: string; readonly validUntil?: string }

/** A key with its text, and the moment after which it counts no more. */
export interface Key {
  readonly text: string
  readonly untilMs: number
}

const ENDS_IN_FILE = /File$|Files$/

/** Each merchant's file with the content of the files that it names in their place, as docs/merchants.md has them. */
export function readMerchants(dir: string): Record<string, unknown> {
  const names = readdirSync(dir).filter((name) => name.endsWith('.json'))
  return Object.fromEntries(
    names.map((name) => [name.replace('.json', ''), inlined(JSON.parse(readFileSync(join(dir, name), 'utf8')), dir)]),
  )
}

function inlined(value: unknown, dir: string, name = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => inlined(one, dir, name))
  if (
    ENDS_IN_FILE.test(name) &&
    (typeof value === 'string' || (typeof value === 'object' && value !== null && 'file' in value))
  )
    return keyOf(value as KeyFile, dir)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inlined(one, dir, key)]))
}

function keyOf(file: KeyFile, dir: string): Key {
  const [name, until] = typeof file === 'string' ? [file, undefined] : [file.file, file.validUntil]
  const text = readFileSync(join(dir, name), 'utf8').replace(/\n$/, '')
  return { text, untilMs: until === undefined ? Number.POSITIVE_INFINITY : Date.parse(until) }
}

const SECRET_FIELDS = ['apiV3KeyFiles', 'apiKeyFiles', 'secretFiles', 'keyFiles']

/** What must be in no log, table or message: all but public halves. */
export function secretsOf(merchants: Readonly<Record<string, unknown>>): { name: string; value: string }[] {
  const found: { name: string; value: string }[] = []
  const walk = (value: unknown, path: string, field: string) => {
    if (typeof value !== 'object' || value === null) return
    if ('text' in value && 'untilMs' in value) {
      const { text } = value as Key
      if (SECRET_FIELDS.includes(field) && !text.startsWith('whpk_')) found.push({ name: path, value: text })
      return
    }
    for (const [key, one] of Object.entries(value)) walk(one, `${path}.${key}`, /^\d+$/.test(key) ? field : key)
  }
  for (const [merchant, sections] of Object.entries(merchants)) walk(sections, merchant, '')
  return found
}

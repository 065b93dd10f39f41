import { resolve } from 'node:path'
import { z } from 'zod'
import { systemClock, type Clock } from '../runtime/clock.ts'
import { BadConfiguration } from '../runtime/config.ts'
import { configFiles } from './config-files.ts'
import { MERCHANT, readJson } from './merchants.ts'
import type { QueryClient, QueryClients } from './query.ts'
import { createAgents, createQueryHttp, type Agents } from './query-http.ts'
import { QUERY_PROVIDERS, type BoundQuery, type QueryEntry } from './query-registry.ts'
import { createRateLimit } from './rate-limit.ts'
import { createFileReader, type FileReader } from './seen-files.ts'

export interface QueryClientOptions {
  /** Holds merchants' private keys, and is for nobody but the process that asks. */
  readonly queryKeysDir: string
  /** What verifies the answers, and whose they must be. */
  readonly merchantsDir: string
  readonly clock?: Clock
  readonly agents?: Agents
  /** Hears each secret, for whoever must never print one. */
  readonly onSecret?: (secret: string) => void
}

/**
 * Reads `<merchant>.json` from QUERY_KEYS_DIR: one section per provider that is to be asked, keys by paths relative to
 * the file; and of the merchant's file in MERCHANTS_DIR the section of the same name. A merchant without a file, or
 * without a section, is not asked about.
 * @throws BadConfiguration naming every file and field that is wrong
 */
export function loadQueryClients(options: QueryClientOptions): QueryClients {
  const { queryKeysDir, merchantsDir, clock = systemClock, agents = createAgents() } = options
  const problems: string[] = []
  const reader = createFileReader()
  const load = createLoad(options, reader, problems)
  const bound = new Map<string, ReadonlyMap<string, BoundQuery>>()
  for (const file of filesIn(queryKeysDir, reader, problems)) {
    const merchant = file.slice(0, -'.json'.length)
    if (!MERCHANT.test(merchant)) problems.push(`✖ ${file}: a merchant is 1 to 64 of a-z, 0-9, _ and -`)
    else bound.set(merchant, load(file))
  }
  if (problems.length > 0)
    throw new BadConfiguration(`Bad query keys in ${queryKeysDir} (beside ${merchantsDir}):\n${problems.join('\n')}`)
  const clientOf = ({ section: { baseUrl, timeoutMs, requestsPerSec }, bodyBytesMax, create }: BoundQuery) =>
    create({
      http: createQueryHttp({ baseUrl, timeoutMs, bodyBytesMax, agents }),
      limit: createRateLimit(requestsPerSec, clock),
      clock,
    })
  return mapValues(bound, (sections): ReadonlyMap<string, QueryClient> => mapValues(sections, clientOf))
}

/** Reads a merchant's two files and binds what they say of each provider. */
function createLoad(
  { queryKeysDir, merchantsDir, onSecret }: QueryClientOptions,
  reader: FileReader,
  problems: string[],
) {
  const options = { reader, ...(onSecret === undefined ? {} : { onSecret }) }
  const keyFiles = configFiles(queryKeysDir, options)
  const merchantFiles = configFiles(merchantsDir, options)
  const shapeOf = (files: typeof keyFiles, pick: 'section' | 'merchantSection') =>
    Object.fromEntries([...QUERY_PROVIDERS].map(([name, entry]) => [name, entry[pick](files).optional()]))
  const keysShape = z
    .strictObject(shapeOf(keyFiles, 'section'))
    .refine((sections) => Object.keys(sections).length > 0, 'must have a section for at least one provider')
  return (file: string): ReadonlyMap<string, BoundQuery> => {
    const given = readJson(resolve(queryKeysDir, file), file, reader, problems)
    const other = readJson(resolve(merchantsDir, file), `${file} in MERCHANTS_DIR`, reader, problems)
    const asked = QUERIED.filter(([name]) => hasSection(given?.value, name))
    const sections = parsed(keysShape, given?.value, file, problems)
    // Only what is asked about: what else is wrong there is said by whoever uses it.
    const merchantShape = z.object(
      Object.fromEntries(asked.map(([name, entry]) => [name, entry.merchantSection(merchantFiles).optional()])),
    )
    const merchant = other && parsed(merchantShape, other.value, `${file} in MERCHANTS_DIR`, problems)
    const bound = new Map<string, BoundQuery>()
    for (const [name, entry] of asked) {
      if (merchant !== undefined && merchant[name] === undefined)
        problems.push(`✖ ${file}: ${name}: MERCHANTS_DIR has no such section for it, so no answer could be verified`)
      if (merchant?.[name] === undefined || sections?.[name] === undefined) continue
      bound.set(name, bindOne(entry, sections[name], merchant[name], `${file}: ${name}`, problems))
    }
    return bound
  }
}

const QUERIED = [...QUERY_PROVIDERS]

const bindOne = (entry: QueryEntry, section: unknown, merchant: unknown, place: string, problems: string[]) =>
  entry.bind(section, merchant, (message, field) => {
    problems.push(`✖ ${place}${field === undefined ? '' : `.${field}`}: ${message}`)
  })

const hasSection = (value: unknown, name: string) =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)

function parsed(
  shape: z.ZodType<Record<string, unknown>>,
  value: unknown,
  file: string,
  problems: string[],
): Record<string, unknown> | undefined {
  if (value === undefined) return undefined
  const result = shape.safeParse(value)
  if (result.success) return result.data
  for (const { path, message } of result.error.issues)
    problems.push(`✖ ${file}${path.length > 0 ? `: ${path.join('.')}` : ''}: ${message}`)
  return undefined
}

function filesIn(directory: string, reader: FileReader, problems: string[]): string[] {
  try {
    const files = reader.list(directory)
    if (files.length === 0) problems.push('✖ no <merchant>.json there: write one for each merchant to ask about')
    return files
  } catch {
    problems.push('✖ cannot read this directory: QUERY_KEYS_DIR must name one with a <merchant>.json for each merchant')
    return []
  }
}

const mapValues = <T, U>(map: ReadonlyMap<string, T>, change: (value: T) => U): ReadonlyMap<string, U> =>
  new Map([...map].map(([name, value]) => [name, change(value)]))

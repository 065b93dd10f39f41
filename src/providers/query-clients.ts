import { resolve } from 'node:path'
import { z } from 'zod'
import { systemClock, type Clock } from '../runtime/clock.ts'
import { BadConfiguration } from '../runtime/config.ts'
import { configFiles } from './config-files.ts'
import { MERCHANT, readJson } from './merchants.ts'
import type { QueryClient, QueryClients } from './query.ts'
import { createAgents, createQueryHttp, type Agents } from './query-http.ts'
import { QUERY_PROVIDERS, type BoundQuery, type QueryEntry } from './query-registry.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'
import { createFileReader, type FileReader, type SeenFiles } from './seen-files.ts'

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
export const loadQueryClients = (options: QueryClientOptions): QueryClients => loadForWatch(options).clients

/** One load of both directories: what it looked at, and what came of it. */
export type QueryLoad = { readonly seen: SeenFiles } & (
  | { readonly kind: 'loaded'; readonly clients: QueryClients }
  /** Every file and field that is wrong, one line each, without a secret. Nothing of it is taken. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] }
)

/** Clients, and how they are loaded again. */
export interface LoadedQueryClients {
  readonly clients: QueryClients
  readonly seen: SeenFiles
  readonly queryKeysDir: string
  /** A merchant's pace at a provider goes on from load to load, and so do connections. */
  readonly reload: () => QueryLoad
}

/** The same, for whoever loads them again. @throws BadConfiguration as above */
export function loadForWatch(options: QueryClientOptions): LoadedQueryClients {
  const { queryKeysDir, merchantsDir, clock = systemClock, agents = createAgents() } = options
  const limits = new Map<string, RateLimit>()
  const reload = () => loadOnce({ ...options, clock, agents }, limits)
  const first = reload()
  if (first.kind === 'loaded') return { clients: first.clients, seen: first.seen, queryKeysDir, reload }
  throw new BadConfiguration(
    `Bad query keys in ${queryKeysDir} (beside ${merchantsDir}):\n${first.problems.join('\n')}`,
  )
}

type Ready = QueryClientOptions & Required<Pick<QueryClientOptions, 'clock' | 'agents'>>

function loadOnce(options: Ready, limits: Map<string, RateLimit>): QueryLoad {
  const { queryKeysDir, clock, agents } = options
  const problems: string[] = []
  const reader = createFileReader()
  const load = createLoad(options, reader, problems)
  const bound = new Map<string, ReadonlyMap<string, BoundQuery>>()
  for (const file of filesIn(queryKeysDir, reader, problems)) {
    const merchant = file.slice(0, -'.json'.length)
    if (!MERCHANT.test(merchant)) problems.push(`✖ ${file}: a merchant is 1 to 64 of a-z, 0-9, _ and -`)
    else bound.set(merchant, load(file))
  }
  const { seen } = reader
  if (problems.length > 0) return { kind: 'refused', seen, problems }
  const limitOf = (place: string, perSec: number) => {
    const limit = limits.get(place) ?? createRateLimit(perSec, clock)
    limits.set(place, limit)
    return limit
  }
  const clientOf = (
    merchant: string,
    provider: string,
    { section: { baseUrl, timeoutMs, requestsPerSec }, bodyBytesMax, create }: BoundQuery,
  ) =>
    create({
      http: createQueryHttp({ baseUrl, timeoutMs, bodyBytesMax, agents }),
      limit: limitOf(`${merchant} ${provider} ${requestsPerSec}`, requestsPerSec),
      clock,
    })
  const clientsOf = (sections: ReadonlyMap<string, BoundQuery>, merchant: string): ReadonlyMap<string, QueryClient> =>
    mapValues(sections, (section, provider) => clientOf(merchant, provider, section))
  return { kind: 'loaded', seen, clients: mapValues(bound, clientsOf) }
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

const mapValues = <T, U>(map: ReadonlyMap<string, T>, change: (value: T, name: string) => U): ReadonlyMap<string, U> =>
  new Map([...map].map(([name, value]) => [name, change(value, name)]))

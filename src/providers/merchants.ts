import { resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { BadConfiguration } from '../runtime/config.ts'
import { configFiles } from './config-files.ts'
import { createKeyMaker, type KnownKeys } from './known-keys.ts'
import type { Provider } from './provider.ts'
import { PROVIDERS, type ProviderEntry } from './registry.ts'
import { createSecretPlaces } from './secret-places.ts'
import { parseStrictJson } from './strict-json.ts'
import { createFileReader, type FileReader, type SeenFiles } from './seen-files.ts'

/** Every merchant with its providers bound to its keys. */
export interface Merchants {
  readonly names: readonly string[]
  /** Undefined: there is no such merchant, or it does not use this provider. */
  readonly find: (provider: string, merchant: string) => Provider | undefined
}

/** The part of a callback's address that names the merchant, and the name of its file. */
export const MERCHANT = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** One load of a directory: what it looked at, and what came of it. */
export type Load = { readonly seen: SeenFiles } & (
  | { readonly kind: 'loaded'; readonly merchants: LoadedMerchants }
  /** Every file and field that is wrong, one line each. Nothing of it is taken. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] }
)

/** With what the next load needs to know of this one. */
export interface LoadedMerchants extends Merchants {
  readonly seen: SeenFiles
  readonly keys: KnownKeys
}

/**
 * Reads `<merchant>.json` from a directory: one section per provider, secrets and keys by paths relative to the file.
 * Keys become key objects here, once: from PEM at each verification they would cost six times the verification.
 * @param onSecret hears each secret, for whoever must never print one
 * @throws BadConfiguration naming every file and field that is wrong
 */
export function loadMerchants(directory: string, onSecret?: (secret: string) => void): LoadedMerchants {
  const load = inSteps(directory, { ...(onSecret === undefined ? {} : { onSecret }) })
  let step = load.next()
  while (step.done !== true) step = load.next()
  if (step.value.kind === 'loaded') return step.value.merchants
  throw new BadConfiguration(`Bad merchants in ${directory}:\n${step.value.problems.join('\n')}`)
}

/**
 * The same for a process that serves requests meanwhile: one merchant per turn of the event loop.
 * @param before whose key objects are taken over where the key is the same
 */
export async function reloadMerchants(directory: string, before: LoadedMerchants): Promise<Load> {
  const load = inSteps(directory, { known: before.keys })
  let step = load.next()
  while (step.done !== true) {
    await setImmediate()
    step = load.next()
  }
  return step.value
}

function* inSteps(
  directory: string,
  { known, onSecret }: { known?: KnownKeys; onSecret?: (secret: string) => void },
): Generator<undefined, Load, undefined> {
  const problems: string[] = []
  const merchants = new Map<string, ReadonlyMap<string, Provider>>()
  const reader = createFileReader()
  const maker = createKeyMaker(known)
  const secrets = createSecretPlaces()
  let merchant = ''
  const filesOf = (provider: string) =>
    configFiles(directory, {
      reader,
      maker,
      onSecret: (secret) => {
        onSecret?.(secret)
        const problem = secrets.note(secret, provider, merchant)
        if (problem !== undefined && !problems.includes(problem)) problems.push(problem)
      },
    })
  const sectionOf = ([name, { section }]: [string, ProviderEntry]) => [name, section(filesOf(name)).optional()] as const
  const shape = z
    .strictObject(Object.fromEntries([...PROVIDERS].map(sectionOf)))
    .refine((sections) => Object.keys(sections).length > 0, 'must have a section for at least one provider')

  for (const file of filesIn(directory, reader, problems)) {
    yield
    merchant = file.slice(0, -'.json'.length)
    if (!MERCHANT.test(merchant)) problems.push(`✖ ${file}: a merchant is 1 to 64 of a-z, 0-9, _ and -`)
    const json = readJson(resolve(directory, file), file, reader, problems)
    if (json === undefined) continue
    const parsed = shape.safeParse(json.value)
    if (parsed.success) {
      const sections = Object.entries(parsed.data).filter((pair): pair is [string, Provider] => pair[1] !== undefined)
      merchants.set(merchant, new Map(sections))
    } else {
      for (const { path, message } of parsed.error.issues)
        problems.push(`✖ ${file}${path.length > 0 ? `: ${path.join('.')}` : ''}: ${message}`)
    }
  }
  const { seen } = reader
  if (problems.length > 0) return { kind: 'refused', seen, problems }
  const names = [...merchants.keys()].sort()
  const find = (provider: string, merchant: string) => merchants.get(merchant)?.get(provider)
  return { kind: 'loaded', seen, merchants: { names, find, seen, keys: maker.keys } }
}

function filesIn(directory: string, reader: FileReader, problems: string[]): string[] {
  try {
    const files = reader.list(directory)
    if (files.length === 0) problems.push('✖ no <merchant>.json there: write one for each merchant')
    return files
  } catch {
    problems.push('✖ cannot read this directory: MERCHANTS_DIR must name one with a <merchant>.json for each merchant')
    return []
  }
}

/** A merchant's file as JSON; undefined, with the problem added, if it is none that can be trusted. */
export function readJson(
  path: string,
  file: string,
  reader: Pick<FileReader, 'read'>,
  problems: string[],
): { value: unknown } | undefined {
  let text: string | undefined
  try {
    text = reader.read(path)
  } catch {
    problems.push(`✖ ${file}: cannot be read`)
    return undefined
  }
  const json = text === undefined ? undefined : parseStrictJson(text)
  // The parser's own message would quote the text around the mistake; a secret pasted there would be in the log.
  if (json === undefined)
    problems.push(`✖ ${file}: is no valid JSON, or names a field twice in one section, or is nested too deeply`)
  return json
}

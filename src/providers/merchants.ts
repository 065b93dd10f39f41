import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { BadConfiguration } from '../runtime/config.ts'
import { configFiles } from './config-files.ts'
import type { Provider } from './provider.ts'
import { PROVIDERS } from './registry.ts'

/** Every merchant with its providers bound to its keys. */
export interface Merchants {
  readonly names: readonly string[]
  /** Undefined: there is no such merchant, or it does not use this provider. */
  readonly find: (provider: string, merchant: string) => Provider | undefined
}

/** The part of a callback's address that names the merchant, and the name of its file. */
const MERCHANT = /^[a-z0-9][a-z0-9_-]{0,63}$/

/**
 * Reads `<merchant>.json` from a directory: one section per provider, secrets and keys by paths relative to the file.
 * Keys become key objects here, once: from PEM at each verification they would cost six times the verification.
 * @throws BadConfiguration naming every file and field that is wrong
 */
export function loadMerchants(directory: string): Merchants {
  const problems: string[] = []
  const merchants = new Map<string, ReadonlyMap<string, Provider>>()
  const files = configFiles(directory)
  const shape = z
    .strictObject(Object.fromEntries([...PROVIDERS].map(([name, { section }]) => [name, section(files).optional()])))
    .refine((sections) => Object.keys(sections).length > 0, 'must have a section for at least one provider')

  for (const file of filesIn(directory, problems)) {
    const merchant = file.slice(0, -'.json'.length)
    if (!MERCHANT.test(merchant)) problems.push(`✖ ${file}: a merchant is 1 to 64 of a-z, 0-9, _ and -`)
    const json = readJson(join(directory, file), file, problems)
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
  if (problems.length > 0) throw new BadConfiguration(`Bad merchants in ${directory}:\n${problems.join('\n')}`)
  return {
    names: [...merchants.keys()].sort(),
    find: (provider, merchant) => merchants.get(merchant)?.get(provider),
  }
}

function filesIn(directory: string, problems: string[]): string[] {
  try {
    const files = readdirSync(directory).filter((name) => name.endsWith('.json'))
    if (files.length === 0) problems.push('✖ no <merchant>.json there: write one for each merchant')
    return files.sort()
  } catch {
    problems.push('✖ cannot read this directory: MERCHANTS_DIR must name one with a <merchant>.json for each merchant')
    return []
  }
}

function readJson(path: string, file: string, problems: string[]): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(readFileSync(path, 'utf8')) as unknown }
  } catch (error) {
    // The parser's own message quotes the text around the mistake; a secret pasted there would be in the log.
    problems.push(`✖ ${file}: ${error instanceof SyntaxError ? 'is no valid JSON' : 'cannot be read'}`)
    return undefined
  }
}

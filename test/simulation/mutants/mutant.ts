import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FaultKind } from '../history/faults.ts'

/** A wrong design: pieces of the product's source that are replaced when they are loaded, in one thread only. */
export interface Mutant {
  readonly name: string
  /** What goes wrong with it. */
  readonly why: string
  readonly changes: readonly Change[]
  /** Without which it does no harm. */
  readonly faults?: readonly FaultKind[] | undefined
  /** An oracle that asks for the very rule, and looks away: another one must see what comes of breaking it. */
  readonly blindTo?: string | undefined
}
export interface Change {
  readonly file: string
  /** Stands in the file exactly once. */
  readonly find: string
  readonly replace: string
}

const ROOT = join(import.meta.dirname, '../../..')

/** @throws the piece is not there, or more than once: the mutant would not be what it says */
export function mutate(source: string, { file, find, replace }: Change): string {
  const parts = source.split(find)
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${find}`)
  return parts.join(replace)
}

/** From here on this thread loads the mutant. To be called before anything of the product is loaded. */
export function loadAs({ changes }: Mutant): void {
  const byUrl = new Map<string, Change[]>()
  for (const change of changes) {
    const url = pathToFileURL(join(ROOT, change.file)).href
    byUrl.set(url, [...(byUrl.get(url) ?? []), change])
  }
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context)
      const here = byUrl.get(url)
      if (here === undefined) return loaded
      return { ...loaded, source: here.reduce(mutate, textOf(loaded.source)) }
    },
  })
}

/** Every piece of every mutant is where it should be. */
export function checkMutant({ changes }: Mutant): void {
  const sources = new Map<string, string>()
  for (const change of changes) {
    const source = sources.get(change.file) ?? readFileSync(join(ROOT, change.file), 'utf8')
    sources.set(change.file, mutate(source, change))
  }
}

const textOf = (source: unknown): string =>
  typeof source === 'string' ? source : Buffer.from(source as Uint8Array).toString()

import { isUtf8 } from 'node:buffer'
import { readdirSync, readFileSync, statSync, type BigIntStats } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { resolve } from 'node:path'

/** What a load looked at, by path: for a directory the names in it, for a file what tells whether it is another now. */
export type SeenFiles = ReadonlyMap<string, string>

/** Reads files and remembers what they were, from just before each was read: a later change is always noticed. */
export interface FileReader {
  readonly seen: SeenFiles
  /** Names of the merchants' files in a directory. @throws if it cannot be read */
  readonly list: (directory: string) => string[]
  /** @returns undefined if it is not UTF-8: each byte that is none would become U+FFFD; @throws if it cannot be read */
  readonly read: (path: string) => string | undefined
}

/** So many files are looked at together: the thread pool has four threads, and others need it too. */
const LOOKS_AT_ONCE = 16
const ABSENT = 'absent'
const FILE_BYTES_MAX = 1_048_576n

export function createFileReader(): FileReader {
  const seen = new Map<string, string>()
  const note = <T>(path: string, look: () => T, print: (value: T) => string): T => {
    seen.set(path, ABSENT)
    const found = look()
    seen.set(path, print(found))
    return found
  }
  return {
    seen,
    list: (directory) => note(resolve(directory), () => merchantFiles(readdirSync(directory)), printOfNames),
    read: (path) => {
      const stats = note(path, () => statSync(path, { bigint: true }), printOf)
      // A pipe would never end, and a key is never that long.
      if (!stats.isFile() || stats.size > FILE_BYTES_MAX) throw new Error(`${path} is no file of a bearable size`)
      const bytes = readFileSync(path)
      return isUtf8(bytes) ? bytes.toString() : undefined
    },
  }
}

/** Looks at the same paths as they are now, and at merchants' files that were not there before. */
export async function lookAgain(directory: string, paths: readonly string[]): Promise<SeenFiles> {
  const root = resolve(directory)
  const names = await readdir(root).then(merchantFiles, () => undefined)
  const now = new Map([[root, names === undefined ? ABSENT : printOfNames(names)]])
  const waiting = new Set([...paths, ...(names ?? []).map((name) => resolve(root, name))])
  waiting.delete(root)
  // One iterator for all: each takes the next path.
  const next = waiting.values()
  const look = async () => {
    for (const path of next) now.set(path, await stat(path, { bigint: true }).then(printOf, () => ABSENT))
  }
  await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, look))
  return now
}

export const isSame = (some: SeenFiles, others: SeenFiles): boolean =>
  some.size === others.size && [...some].every(([path, print]) => others.get(path) === print)

const merchantFiles = (names: readonly string[]) => names.filter((name) => name.endsWith('.json')).sort()
const printOfNames = (names: readonly string[]) => names.join('/')
/** Symbolic links are followed: Kubernetes renews a mounted secret by pointing one at another directory. */
const printOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats) => `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Where downloads and builds are kept, per user, so that every clone shares them; `XDG_CACHE_HOME` is honoured. */
export function cacheDir(): string {
  const choices = [
    process.env['XDG_CACHE_HOME'],
    join(homedir(), '.cache'),
    join(tmpdir(), `cache-${userInfo().username}`),
  ]
  for (const base of choices) {
    if (base === undefined || !base.startsWith('/')) continue // the XDG specification ignores relative paths
    try {
      const dir = join(base, 'paidonce')
      mkdirSync(dir, { recursive: true })
      return dir
    } catch {
      continue // a home that does not exist or is not ours
    }
  }
  throw new Error(`no folder for downloads: none of ${choices.join(', ')} can be written`)
}

/** Short name for a set of inputs: another content is another folder. */
export function hashOf(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 12)
}

export const isCached = (name: string): boolean => existsSync(join(cacheDir(), name))

const LOCK_STALE_MS = 15 * 60_000

/**
 * Makes `<cache>/<name>` once, also when several processes ask at the same time: `make` fills a temporary folder,
 * which is then renamed, so that a half-made one is never seen.
 */
export async function once(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const target = join(cacheDir(), name)
  const lock = `${target}.lock`
  for (;;) {
    if (existsSync(target)) return target
    if (takeLock(lock)) break
    await sleep(250)
  }
  const temporary = `${target}.${process.pid}`
  try {
    if (existsSync(target)) return target
    mkdirSync(temporary, { recursive: true })
    await make(temporary)
    renameSync(temporary, target)
    return target
  } finally {
    rmSync(temporary, { recursive: true, force: true })
    rmSync(lock, { force: true })
  }
}

function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    if (isStale(lock)) rmSync(lock, { force: true })
    return false
  }
}

function isStale(lock: string): boolean {
  try {
    if (Date.now() - statSync(lock).mtimeMs > LOCK_STALE_MS) return true
    process.kill(Number(readFileSync(lock, 'utf8')), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

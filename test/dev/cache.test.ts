import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { cacheDir, once } from '../../dev/parts/cache.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'paidonce-cache-'))
  vi.stubEnv('XDG_CACHE_HOME', home)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true, force: true })
})

test('XDG_CACHE_HOME is honoured; a home that cannot be written is passed over', () => {
  expect(cacheDir()).toBe(join(home, 'paidonce'))
  vi.stubEnv('XDG_CACHE_HOME', '/dev/null/nowhere')
  vi.stubEnv('HOME', '/dev/null')
  expect(cacheDir().startsWith(tmpdir())).toBe(true)
})

test('several callers at once make it once, and nobody sees a half-made one', async () => {
  let made = 0
  const make = async (dir: string) => {
    made++
    writeFileSync(join(dir, 'a'), '1')
    await new Promise((resolve) => setTimeout(resolve, 20))
    writeFileSync(join(dir, 'b'), '2')
  }
  const dirs = await Promise.all([once('thing', make), once('thing', make), once('thing', make)])
  expect(new Set(dirs).size).toBe(1)
  expect(made).toBe(1)
  expect(readFileSync(join(dirs[0], 'b'), 'utf8')).toBe('2')
})

test('a maker that fails leaves nothing behind, and the next one tries again', async () => {
  await expect(once('thing', () => Promise.reject(new Error('no network')))).rejects.toThrow('no network')
  expect(existsSync(join(home, 'paidonce', 'thing'))).toBe(false)
  await once('thing', () => Promise.resolve())
  expect(existsSync(join(home, 'paidonce', 'thing'))).toBe(true)
})

test('the lock of a maker that died is taken over', async () => {
  writeFileSync(join(cacheDir(), 'thing.lock'), '4194304') // above the highest pid that Linux gives
  await once('thing', () => Promise.resolve())
  expect(existsSync(join(home, 'paidonce', 'thing'))).toBe(true)
})

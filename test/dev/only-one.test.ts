import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { onlyOne } from '../../dev/parts/only-one.ts'
import { self } from '../../dev/parts/process.ts'
import { up } from '../../dev/stack.ts'

const dir = mkdtempSync(join(tmpdir(), 'paidonce-only-one-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('a second one is told who is there, and may go on when the first has ended, however it ended', async () => {
  const file = join(dir, 'start.pid')
  const script = `
    import { onlyOne } from ${JSON.stringify(join(import.meta.dirname, '../../dev/parts/only-one.ts'))}
    onlyOne('npm start', ${JSON.stringify(file)})
    console.log('up')
    setInterval(() => {}, 1000)`
  const first = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(first.stdout, 'data')
  expect(() => onlyOne('npm start', file)).toThrow(`\`npm start\` runs already in this folder (pid ${first.pid ?? 0}).`)
  first.kill('SIGKILL')
  await once(first, 'close')
  onlyOne('npm start', file)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(self())
})

test('a note that nobody finished, and one of a pid that is another program by now, count for nothing', () => {
  const file = join(dir, 'other.pid')
  for (const note of ['{"pid":', JSON.stringify({ pid: process.ppid, startedAt: '1' })]) {
    writeFileSync(file, note)
    onlyOne('npm start', file)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(self())
  }
})

test('no second stack is started on the data of one that npm start has', async () => {
  for (const name of ['KAFKA_BROKERS', 'DATABASE_URL', 'SCHEMA_REGISTRY_URL']) vi.stubEnv(name, undefined)
  const folder = join(dir, 'local')
  onlyOne('npm start', join(folder, 'start.pid'))
  await expect(up(folder)).rejects.toThrow(/`npm start` \(pid \d+\) has .* Ctrl-C first/)
  vi.unstubAllEnvs()
})

import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { isAlive, type ProcessId } from '../../dev/parts/process.ts'
import { until } from '../helpers/until.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const dir = mkdtempSync(join(tmpdir(), 'paidonce-npm-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
/** Those that start services, by the file that they run. */
const starting = Object.entries(scripts).flatMap(([name, script]) => {
  const file = /--import \.\/dev\/needs\.js (\S+)/.exec(script)?.[1]
  return file === undefined ? [] : [[name, file] as const]
})

test('there are such scripts', () => {
  expect(starting.map(([name]) => name)).toEqual(expect.arrayContaining(['start', 'test', 'stack', 'chaos']))
})

test.each(starting)('SIGTERM to `npm run %s` reaches the program behind it', async (name, file) => {
  const place = join(dir, name.replace(':', '-'))
  const note = join(place, 'note')
  mkdirSync(join(place, dirname(file)), { recursive: true })
  mkdirSync(join(place, 'dev', 'parts'), { recursive: true })
  copyFileSync(join(ROOT, 'package.json'), join(place, 'package.json'))
  writeFileSync(join(place, 'dev', 'needs.js'), '')
  copyFileSync(join(ROOT, 'dev', 'parts', 'process.ts'), join(place, 'dev', 'parts', 'process.ts'))
  const program = `
    import { writeFileSync } from 'node:fs'
    import { self } from ${JSON.stringify(join(place, 'dev', 'parts', 'process.ts'))}
    setInterval(() => {}, 1_000)
    writeFileSync(${JSON.stringify(note)}, JSON.stringify(self()))`
  writeFileSync(join(place, file), program)
  const npm = spawn('npm', ['run', name], { cwd: place, stdio: 'ignore' })
  const id = await until('it runs', () => read(note), 30_000)
  npm.kill('SIGTERM')
  try {
    await until('it has ended', () => !isAlive(id), 10_000)
  } finally {
    if (isAlive(id)) process.kill(id.pid, 'SIGKILL')
  }
})

function read(file: string): ProcessId | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessId
  } catch {
    return undefined
  }
}

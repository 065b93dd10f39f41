import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isAlive } from '../../dev/parts/process.ts'
import { run } from '../../dev/parts/run.ts'
import { readState } from '../../dev/parts/state.ts'

const PROGRAM = join(import.meta.dirname, '..', '..', 'dev', 'stack.ts')
let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'paidonce-stack-'))
  chmodSync(dir, 0o755) // Postgres runs as another user when this one is root
})
afterAll(async () => {
  await stack('down')
  rmSync(dir, { recursive: true, force: true })
})

function stack(command: string, env: NodeJS.ProcessEnv = {}) {
  const given = ['KAFKA_BROKERS', 'DATABASE_URL', 'SCHEMA_REGISTRY_URL', 'PAIDONCE_INSTALL']
  const rest = Object.fromEntries(Object.entries(process.env).filter(([name]) => !given.includes(name)))
  return run(process.execPath, [PROGRAM, command, '--dir', dir], { env: { ...rest, ...env } })
}

test('up leaves a stack that answers, beside one that runs already; down ends it and nothing else', async () => {
  const up = await stack('up')
  expect(up).toMatchObject({ code: 0 })
  const state = readState(dir)
  const ids = state?.parts.map((part) => part.id) ?? []
  expect(ids.filter(isAlive)).toHaveLength(3)
  expect((await fetch(`${state?.env.SCHEMA_REGISTRY_URL ?? ''}/subjects`)).status).toBe(200)

  expect((await stack('up')).output).toContain(state?.env.KAFKA_BROKERS)
  expect(readState(dir)?.parts.map((part) => part.id)).toEqual(ids)
  expect(await stack('status')).toMatchObject({ code: 0 })

  expect(await stack('down')).toMatchObject({ code: 0 })
  expect(ids.filter(isAlive)).toEqual([])
  expect(await stack('status')).toMatchObject({ code: 1 })
  expect(readFileSync(join(dir, 'stack', 'kafka-1', 'server.log'), 'utf8')).toContain('shut down completed')
})

test('data and schema ids outlive down and up; a part that died is replaced by up', async () => {
  await stack('up')
  const url = () => `${readState(dir)?.env.SCHEMA_REGISTRY_URL ?? ''}/subjects/s/versions`
  const body = JSON.stringify({ schema: '"string"' })
  await fetch(url(), { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const before = readState(dir)?.parts ?? []
  process.kill(before.find((part) => part.name === 'registry')?.id.pid ?? 0, 'SIGKILL')
  await stack('up')
  expect(before.map((part) => part.id).filter(isAlive)).toEqual([])
  expect(await fetch(url()).then((r) => r.json())).toEqual([1])
  await stack('down')
})

test('what is missing is named in one line each, with how to get it', async () => {
  const { code, output } = await stack('up', { PATH: '/nowhere', JAVA_HOME: '/nowhere', XDG_CACHE_HOME: dir })
  expect(code).toBe(3)
  expect(output).toMatch(/^JDK 17 or newer: .+\. Get it: .+$/m)
  expect(output).toMatch(/^Maven 3\.6 or newer: not found\. Get it: .+$/m)
})

test('a stack given by the environment is used, half a one refused', async () => {
  const given = { KAFKA_BROKERS: 'a:1', DATABASE_URL: 'postgres://b/c', SCHEMA_REGISTRY_URL: 'http://d' }
  expect((await stack('env', given)).output).toContain('KAFKA_BROKERS=a:1')
  const half = await stack('up', { KAFKA_BROKERS: 'a:1' })
  expect(half).toMatchObject({ code: 1 })
  expect(half.output).toContain('set DATABASE_URL and SCHEMA_REGISTRY_URL too')
})

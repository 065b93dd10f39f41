import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sweep } from '../../dev/parts/leftovers.ts'
import { choosePort, isFree } from '../../dev/parts/ports.ts'
import { end, family, gone, isAlive, kill, launch, type ProcessId } from '../../dev/parts/process.ts'
import { until } from '../helpers/until.ts'

let dir: string
beforeAll(() => void (dir = mkdtempSync(join(tmpdir(), 'paidonce-process-'))))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const shell = (script: string): ProcessId => launch({ command: 'sh', args: ['-c', script], logFile: join(dir, 'log') })

test('a pid that another program has by now is never signalled', async () => {
  const id = shell('exec sleep 60')
  const stranger = { pid: id.pid, startedAt: '1' }
  expect(isAlive(stranger)).toBe(false)
  await end(stranger, 'SIGKILL', 100)
  expect(isAlive(id)).toBe(true)
  await kill([id])
  expect(isAlive(id)).toBe(false)
})

test('a program that ignores its stop signal is killed, with its children', async () => {
  const id = shell(`trap '' TERM; sleep 60 & echo ready; wait; sleep 60`)
  const members = await until('the child runs', () => {
    const all = family(id)
    return all.length === 2 && all
  })
  await end(id, 'SIGTERM', 100)
  await Promise.all(members.map((member) => gone(member, 5_000)))
})

test('a frozen program can be ended', async () => {
  const id = shell('exec sleep 60')
  process.kill(id.pid, 'SIGSTOP')
  expect(isAlive(id)).toBe(true)
  await end(id, 'SIGTERM', 5_000)
  expect(isAlive(id)).toBe(false)
})

test.runIf(process.platform === 'linux')('what a run left running is found by its mark, ended and named', async () => {
  const mark = randomUUID()
  const left = launch({
    ...{ command: 'sleep', args: ['60'], logFile: join(dir, 'log') },
    env: { ...process.env, TEST_MARK: mark },
  })
  const stranger = shell('exec sleep 60')
  expect(await sweep('TEST_MARK', mark)).toEqual([expect.stringMatching(/^\d+ sleep 60/)])
  await gone(left, 5_000)
  expect(isAlive(stranger)).toBe(true)
  await kill([stranger])
  expect(await sweep('TEST_MARK', mark)).toEqual([])
})

test('a taken port is passed over, and none is given twice', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  expect(await isFree(port)).toBe(false)
  const given = await Promise.all(Array.from({ length: 20 }, () => choosePort(port)))
  expect(given).not.toContain(port)
  expect(new Set(given).size).toBe(20)
  expect(Math.max(...given)).toBeLessThan(32_768)
  server.close()
})

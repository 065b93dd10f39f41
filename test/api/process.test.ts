import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi, type Api } from '../../src/api/start.ts'
import { createLog } from '../../src/runtime/log.ts'
import { createCheck, documentOf } from './check-answer.ts'

/** Nothing listens there: what is tested here needs no database. */
const NO_DATABASE = { DATABASE_URL: 'postgres://u:secretword@127.0.0.1:1/x', PORT: '0', METRICS_PORT: '0' }

let api: Api
beforeAll(async () => {
  api = await startApi(readApiConfig({ ...NO_DATABASE }), { log: createLog('api', 'silent') })
})
afterAll(() => api.stop())

/** Sends bytes and returns what came back until the other side closed, and after how long. */
async function speak(bytes: string): Promise<{ status: string; ms: number }> {
  const startedMs = performance.now()
  const socket = connect(api.port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('latin1').on('data', (text: string) => (answer += text))
  socket.on('error', () => undefined)
  socket.write(bytes)
  await once(socket, 'close')
  return { status: answer.split(' ')[1] ?? '', ms: performance.now() - startedMs }
}

const POST = 'POST /v1/orders HTTP/1.1\r\nHost: x\r\n'
test.each([
  ['two lengths', `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, '400'],
  ['a length and chunks', `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, '400'],
  ['a folded header', `${POST}A: b\r\n c\r\nConnection: close\r\n\r\n`, '400'],
  ['headers of 20 kB', `${POST}A: ${'x'.repeat(20_000)}\r\n\r\n`, '431'],
  ['no HTTP', 'hello\r\n\r\n', '400'],
])('%s: refused by the server', async (_what, bytes, status) => {
  expect((await speak(bytes)).status).toBe(status)
})

test('headers that never end: 408 after some seconds', async () => {
  const { status, ms } = await speak(`${POST}A: `)
  expect(status).toBe('408')
  expect(ms).toBeLessThan(9_000)
})

let child: ChildProcess | undefined
afterEach(() => child?.kill('SIGKILL'))

function runMain(env: Record<string, string>) {
  const main = join(import.meta.dirname, '../../src/api/main.ts')
  const started = (child = spawn(process.execPath, [main], { env: { PATH: process.env['PATH'] ?? '', ...env } }))
  const output = { stdout: '', stderr: '' }
  started.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  started.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  return { started, output }
}

test('a wrong configuration: every problem at once, exit 2', async () => {
  const { started, output } = runMain({ PORT: 'x', COMMAND_WAIT_MS: '99999', IN_FLIGHT_MAX: '0', TOPIC_PREFIX: 'a b' })
  expect((await once(started, 'close'))[0]).toBe(2)
  for (const name of ['DATABASE_URL', 'PORT', 'COMMAND_WAIT_MS', 'IN_FLIGHT_MAX', 'TOPIC_PREFIX'])
    expect(output.stderr).toContain(name)
  expect(output.stderr).not.toMatch(/\n\s+at .*\.ts/)
})

test('without Postgres it lives, says why it is not ready, tells no secret, and stops in order on SIGTERM', async () => {
  const { started, output } = runMain({ ...NO_DATABASE, LOG_LEVEL: 'info' })
  const listening = await new Promise<{ port: number; metricsPort: number }>((resolve) =>
    started.stdout.on('data', () => {
      const line = output.stdout.split('\n').find((text) => text.includes('api listens'))
      if (line !== undefined) resolve(JSON.parse(line) as { port: number; metricsPort: number })
    }),
  )
  const probe = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${listening.metricsPort}${path}`)
    return [answer.status, await answer.text()] as const
  }
  expect((await probe('/healthz'))[0]).toBe(200)
  expect((await probe('/readyz'))[0]).toBe(503)
  expect((await probe('/metrics'))[1]).toContain('paidonce_api_in_flight 0')
  const answer = await fetch(`http://127.0.0.1:${listening.port}/v1/orders`, {
    ...{ method: 'POST', headers: { authorization: `Bearer po_${'A'.repeat(43)}` } },
  })
  expect(answer.status).toBe(503)
  const contentType = answer.headers.get('content-type')
  const exchange = { method: 'POST', path: '/v1/orders', sent: undefined, status: answer.status, contentType }
  createCheck(await documentOf())({ ...exchange, body: await answer.json() })
  started.kill('SIGTERM')
  expect((await once(started, 'close'))[0]).toBe(0)
  expect(output.stdout).toContain('api stopped')
  expect(output.stdout + output.stderr).not.toContain('secretword')
})

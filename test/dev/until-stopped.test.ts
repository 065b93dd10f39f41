import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

let dir: string
beforeAll(() => void (dir = mkdtempSync(join(tmpdir(), 'paidonce-start-'))))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** What a start would do after its services are up, with one service: `sleep`. */
const start = (service: string) => {
  const parts = (file: string) => JSON.stringify(join(import.meta.dirname, '../../dev', file))
  const script = `
    import { dieTogether, launch } from ${parts('parts/process.ts')}
    import { untilStopped } from ${parts('demo/until-stopped.ts')}
    dieTogether({ signals: false })
    const logFile = ${JSON.stringify(join(dir, 'log'))}
    const id = launch({ command: 'sh', args: ['-c', ${JSON.stringify(service)}], logFile })
    const stopped = untilStopped([{ name: 'gateway', id, logFile }])
    console.log('up')
    await stopped.then(() => console.log('asked to stop'), (error) => console.log(error.message))
    process.exit()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const up = new Promise<void>((resolve) =>
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes('up')) resolve()
    }),
  )
  const ended = new Promise<string>((resolve) => child.once('close', (code) => resolve(`${output.trim()} ${code}`)))
  return { up, ended, signal: (name: NodeJS.Signals) => child.kill(name) }
}

test('nothing but the services keeps it up, and one that ends by itself is named', async () => {
  const { ended } = start('exec sleep 0.2')
  expect(await ended).toBe(`up\ngateway has ended by itself; its log: ${join(dir, 'log')} 0`)
})

test('Ctrl-C stops it, also when it comes from the terminal and from npm', async () => {
  const { up, ended, signal } = start('exec sleep 60')
  await up
  signal('SIGINT')
  signal('SIGINT')
  expect(await ended).toBe('up\nasked to stop 0')
})

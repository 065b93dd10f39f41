import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts')

/** Runs it in a shell that sends its stdout where `to` says, and tells its exit code. */
async function paidonceTo(to: string, args: string): Promise<{ code: number; stderr: string }> {
  const script = `"$0" "$1" ${args} ${to}; echo "\${PIPESTATUS[0]}"`
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', script, process.execPath, MAIN], {
    env: { PATH: process.env['PATH'] },
  })
  return { code: Number(stdout), stderr }
}

test.each([
  ['order states', 0],
  ['order states --output json', 0],
  ['--help', 0],
  ['config check api --offline', 1],
])('%s to a reader that has gone: quiet, with its own exit code', async (args, code) => {
  expect(await paidonceTo('| true', args)).toEqual({ code, stderr: '' })
})

test.each(['order states', '--help', 'config check api --offline'])(
  '%s to a full disk: one line, exit 3',
  async (args) => {
    expect(await paidonceTo('> /dev/full', args)).toEqual({
      code: 3,
      stderr:
        'error: The output could not be written (ENOSPC: no space left on device, write); what was done is done.\n' +
        'Make room, or send the output elsewhere.\n',
    })
  },
)

test('nobody left to tell an error to: its exit code all the same', async () => {
  expect(await paidonceTo('2> /dev/full', 'nonsense')).toEqual({ code: 2, stderr: '' })
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts')

export interface CliRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command line as a person would: a process of its own, with this environment and nothing else of ours. */
export async function paidonce(args: readonly string[], env: Record<string, string> = {}): Promise<CliRun> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...output }
}

/** The same with `--output json`; @throws when stdout is not one JSON document. */
export async function paidonceJson(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number | null; json: unknown }> {
  const { code, stdout, stderr } = await paidonce([...args, '--output', 'json'], env)
  try {
    return { code, json: JSON.parse(stdout) as unknown }
  } catch {
    throw new Error(`no JSON (exit ${String(code)}): ${stdout}${stderr}`)
  }
}

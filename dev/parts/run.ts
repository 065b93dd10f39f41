import { spawn } from 'node:child_process'

const OUTPUT_BYTES_MAX = 1_000_000

export interface Ran {
  readonly code: number
  readonly output: string
}

/** Runs a program to its end; its output (stdout and stderr together, the last megabyte) comes back. */
export function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; user?: { uid: number; gid: number } | undefined } = {},
): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: options.env ?? process.env,
      ...(options.user ?? {}),
    })
    let output = ''
    const hear = (chunk: Buffer) => (output = (output + chunk.toString('utf8')).slice(-OUTPUT_BYTES_MAX))
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('error', (error) => resolve({ code: 127, output: error.message }))
    child.once('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

/** The same, for a program that has to succeed. @throws Error with the end of its output */
export async function mustRun(...call: Parameters<typeof run>): Promise<string> {
  const { code, output } = await run(...call)
  if (code !== 0) throw new Error(`${call[0]} exited ${code}:\n${output.split('\n').slice(-20).join('\n')}`)
  return output
}

import { vi } from 'vitest'
import { runCli } from '../../src/cli/run-cli.ts'
import type { CliRun } from './paidonce.ts'

/** Runs the command line within this process: where there are many runs, each would take seconds to start. */
export async function paidonceHere(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CliRun> {
  const written = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map((name) => {
    process[name].setMaxListeners(100)
    return vi.spyOn(process[name], 'write').mockImplementation((text: unknown, ...rest: unknown[]) => {
      written[name] += String(text)
      for (const done of rest) if (typeof done === 'function') setImmediate(done as () => void)
      return true
    })
  })
  try {
    const code = await runCli(args, env)
    return { code, ...written }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

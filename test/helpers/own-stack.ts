import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { dieTogether } from '../../dev/parts/process.ts'
import { startStack, type Stack, type StackOptions } from '../../dev/parts/stack.ts'
import { LOCAL_DIR } from '../../dev/parts/state.ts'

/**
 * A stack that a test may freeze, kill and set back, without hurting any other: `stack.kafka.nodes[0].freeze()`,
 * `stack.postgres.kill()`, `stack.postgres.snapshot()`. Starts in about 4 s; pass its urls to `createDatabase` and
 * `createTopics`, its `env` to `processEnv`. `stop` keeps the logs (under .local/faults) and drops the data.
 */
export async function ownStack(options: Omit<StackOptions, 'dir' | 'preferPorts'> = {}): Promise<Stack> {
  dieTogether({ signals: false }) // the test runner owns the signals of its workers
  const parent = join(LOCAL_DIR, 'faults')
  mkdirSync(parent, { recursive: true })
  const dir = mkdtempSync(join(parent, 'stack-'))
  chmodSync(dir, 0o755) // Postgres runs as another user when this one is root
  const stack = await startStack({ dir, ...options })
  return {
    ...stack,
    stop: async () => {
      for (const part of stack.parts) part.thaw()
      await stack.drop()
    },
  }
}

import { givenStack, runningStack, type StackEnv } from '../../dev/parts/state.ts'

/** Where the stack of this run is: as `npm test` set it, or the one of `node dev/stack.ts up`. @throws Error if none */
export function stackEnv(): StackEnv {
  const env = givenStack(process.env) ?? runningStack()
  if (env === undefined) throw new Error('no stack runs: start one with `node dev/stack.ts up`, or use `npm test`')
  return env
}

/** An environment for a process under test: the stack, quiet logs, any free ports, and what the test adds. */
export function processEnv(more: Readonly<Record<string, string>>, stack: StackEnv = stackEnv()): NodeJS.ProcessEnv {
  const inherited = ['PATH', 'HOME', 'TMPDIR', 'PAIDONCE_RUN', 'LOG_LEVEL']
  const kept = inherited.flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]] as const],
  )
  return { LOG_LEVEL: 'warn', ...Object.fromEntries(kept), ...stack, PORT: '0', METRICS_PORT: '0', ...more }
}

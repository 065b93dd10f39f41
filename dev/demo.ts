import { randomBytes, randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { onlyOne } from './parts/only-one.ts'
import { MissingPrograms } from './parts/prerequisites.ts'
import * as processes from './parts/process.ts'
import { say, step } from './parts/progress.ts'
import { startStack } from './parts/stack.ts'
import { GIVEN_STACK, givenStack, LOCAL_DIR, runningStack, type StackEnv } from './parts/state.ts'
import { endAtHelp, usageMistake } from './parts/usage.ts'
import { play } from './demo/play.ts'
import { report } from './demo/report.ts'
import { TAMPERINGS, type Tampering } from './demo/tamper.ts'

const USAGE = `usage: npm run demo [-- --orders N] [--deliveries N] [--seed N] [--break ${TAMPERINGS.join('|')}]

Plays payments of N orders (default 1000), each delivered several times (default 5), over two gateways and two
processors, loses the callbacks of one order in twenty, about which the reconciler asks, kills one processor and one
worker in the middle of their work, and compares what workers see, and what the carrier shipped, with what was paid.
--break tampers with the result, to see that the demo notices: it must then exit 1.`

async function main(): Promise<number> {
  endAtHelp(USAGE)
  const { values } = parseArgs({
    options: {
      orders: { type: 'string', default: '1000' },
      deliveries: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
      break: { type: 'string' },
    },
  })
  const [orders, deliveries, seed] = [Number(values.orders), Number(values.deliveries), Number(values.seed)]
  const tampering = TAMPERINGS.find((name) => name === values.break)
  const isSound = [orders, deliveries, seed].every((n) => Number.isSafeInteger(n) && n > 0) && orders <= 100_000
  if (!isSound || deliveries > 100 || (values.break !== undefined && tampering === undefined)) {
    say(USAGE)
    return 2
  }
  onlyOne('npm run demo', join(LOCAL_DIR, 'demo.pid'))
  return withStack((stack) => demo(stack, { orders, deliveries, seed, tampering }))
}

async function demo(
  stack: StackEnv,
  options: { orders: number; deliveries: number; seed: number; tampering: Tampering | undefined },
): Promise<number> {
  const runId = `d${Date.now().toString(36)}${randomBytes(2).toString('hex')}`
  const dir = join(LOCAL_DIR, 'demo')
  rmSync(dir, { recursive: true, force: true })
  say(
    `paidonce demo: ${options.orders} orders × ${options.deliveries} deliveries, seed ${options.seed} (about 1 minute)`,
  )
  const result = await play({ stack, runId, dir, ...options })
  return report(result, dir)
}

/** The stack that is given or runs, else one of our own, which is stopped at the end. */
async function withStack(work: (stack: StackEnv) => Promise<number>): Promise<number> {
  processes.dieTogether()
  const given = givenStack(process.env)
  if (given !== undefined) say(GIVEN_STACK)
  const present = given ?? runningStack()
  if (present !== undefined) return work(present)
  say('starting a local stack: Kafka, Postgres and a schema registry (the first time: 2 to 5 minutes)')
  const dir = join(LOCAL_DIR, 'demo-stack')
  rmSync(dir, { recursive: true, force: true })
  const stack = await startStack({ dir })
  try {
    return await work(stack.env)
  } finally {
    await step('stopping the stack', 'about 5 s', () => stack.stop())
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  const mistake = usageMistake(error)
  say(mistake === undefined ? (error instanceof Error ? error.message : String(error)) : `${mistake}\n${USAGE}`)
  process.exitCode = mistake !== undefined ? 2 : error instanceof MissingPrograms ? 3 : 1
}

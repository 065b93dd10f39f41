// `npm start`: the whole system on the local stack, until Ctrl-C.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createKeys } from '../src/simulator/create-keys.ts'
import { cli, prepare, startService, type Service } from './demo/system.ts'
import { untilStopped } from './demo/until-stopped.ts'
import { MissingPrograms } from './parts/prerequisites.ts'
import * as processes from './parts/process.ts'
import { say, step } from './parts/progress.ts'
import { startStack } from './parts/stack.ts'
import { givenStack, LOCAL_DIR, runningStack } from './parts/state.ts'

const MERCHANT = 'flowershop'
const PARTITIONS = 12
const dir = join(LOCAL_DIR, 'start')

async function main(): Promise<void> {
  // Until all is up, Ctrl-C ends at once what was launched; later everything is stopped in order.
  processes.dieTogether({ signals: false })
  const starting = processes.dieTogether()
  const present = givenStack(process.env) ?? runningStack()
  if (present === undefined)
    say('starting a local stack: Kafka, Postgres and a schema registry (the first time: about 2 minutes)')
  const own = present === undefined ? await startStack({ dir: join(LOCAL_DIR, 'stack'), preferPorts: true }) : undefined
  const stack = present ?? own?.env
  const keys = { merchantsDir: join(dir, 'merchants'), sendersDir: join(dir, 'senders') }
  const env = { ...process.env, ...stack, MERCHANTS_DIR: keys.merchantsDir }
  if (!existsSync(join(keys.merchantsDir, `${MERCHANT}.json`))) await createKeys(keys, [MERCHANT], new Date())
  const token = await step('creating tables, topics and schemas', 'about 5 s', async () => {
    await prepare(env, PARTITIONS)
    const name = `start-${Date.now().toString(36)}`
    const made = await cli(
      env,
      'token',
      'create',
      '--name',
      name,
      '--role',
      'admin',
      '--expires-in',
      '1d',
      '--output',
      'json',
    )
    return (JSON.parse(made) as { token: string }).token
  })
  const start = (name: string, port: number, metricsPort: number) =>
    startService({ name, main: `src/${name}/main.ts`, env, logDir: join(dir, 'logs'), port, metricsPort })
  const services = await step('starting gateway, processor and api', 'about 3 s', () =>
    Promise.all([start('gateway', 8080, 9464), start('processor', 0, 9465), start('api', 8081, 9466)]),
  )
  const [gateway, processor, api] = services
  say(help(gateway, processor, api, token))
  const stopped = untilStopped(services)
  starting.release()
  await stopped.finally(() =>
    step('stopping', 'about 5 s', async () => {
      await Promise.all(services.map((service) => service.stop()))
      await own?.stop()
    }),
  )
}

const help = (gateway: Service, processor: Service, api: Service, token: string) => `
paidonce runs until Ctrl-C. Logs: .local/start/logs

  gateway    ${gateway.url}/callbacks/:provider/${MERCHANT}     metrics ${gateway.metricsUrl}/metrics
  api        ${api.url}/v1/orders                          metrics ${api.metricsUrl}/metrics
  processor                                                      metrics ${processor.metricsUrl}/metrics

Create an order:

  curl -s ${api.url}/v1/orders -H 'authorization: Bearer ${token}' -H 'content-type: application/json' \\
    -d '{"merchant":"${MERCHANT}","out_trade_no":"A-1","amount_minor":990,"currency":"CNY","expires_at":"${tomorrow()}"}'

Pay it, as WeChat Pay would, three times at once:

  npm run -s simulate -- pay A-1 --amount-minor 990 --copies 3

See what became of it:

  curl -s ${api.url}/v1/orders/${MERCHANT}/A-1/timeline -H 'authorization: Bearer ${token}'
`
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z/, 'Z')

try {
  await main()
} catch (error) {
  say(error instanceof MissingPrograms ? error.message : error instanceof Error ? error.message : String(error))
  process.exitCode = error instanceof MissingPrograms ? 3 : 1
}
// Pools and readers of a failed start must not keep the process.
process.exit()

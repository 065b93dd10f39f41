// `npm start`: the whole system on the local stack, until Ctrl-C.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { createKeys } from '../src/simulator/create-keys.ts'
import { cli, prepare, startService, type Service } from './demo/system.ts'
import { untilStopped } from './demo/until-stopped.ts'
import { onlyOne } from './parts/only-one.ts'
import { MissingPrograms } from './parts/prerequisites.ts'
import * as processes from './parts/process.ts'
import { say, step } from './parts/progress.ts'
import { startStack } from './parts/stack.ts'
import { GIVEN_STACK, givenStack, LOCAL_DIR, runningStack } from './parts/state.ts'
import { endAtHelp, usageMistake } from './parts/usage.ts'

const USAGE = `usage: npm start

Starts gateway, processor, api and reconciler on a local stack (that of "npm run stack -- up", if it runs), prints their
addresses and what to try, and runs until Ctrl-C. What was done stays in .local.`
const MERCHANT = 'flowershop'
const PARTITIONS = 12
const GATEWAY_PORT = 8080
const dir = join(LOCAL_DIR, 'start')
const envFile = join(dir, 'env')

async function main(): Promise<void> {
  endAtHelp(USAGE)
  parseArgs({ options: {} })
  onlyOne('npm start', join(LOCAL_DIR, 'start.pid'))
  // Until all is up, Ctrl-C ends at once what was launched; later everything is stopped in order.
  processes.dieTogether({ signals: false })
  const starting = processes.dieTogether()
  const given = givenStack(process.env)
  const present = given ?? runningStack()
  if (given !== undefined) say(GIVEN_STACK)
  if (present === undefined)
    say('starting a local stack: Kafka, Postgres and a schema registry (the first time: 2 to 5 minutes)')
  const own = present === undefined ? await startStack({ dir: join(LOCAL_DIR, 'stack'), preferPorts: true }) : undefined
  const stack = present ?? own?.env
  const keys = {
    ...{ merchantsDir: join(dir, 'merchants'), sendersDir: join(dir, 'senders') },
    queriesDir: join(dir, 'queries'),
  }
  const env = { ...process.env, ...stack, MERCHANTS_DIR: keys.merchantsDir }
  // The merchants' private keys: for one process only.
  const asking = { ...env, QUERY_KEYS_DIR: keys.queriesDir }
  const files = [keys.merchantsDir, keys.queriesDir].map((one) => join(one, `${MERCHANT}.json`))
  if (!files.every(existsSync)) await createKeys(keys, [MERCHANT], new Date())
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
  const start = (name: string, port: number, metricsPort: number, own: NodeJS.ProcessEnv = env) =>
    startService({ name, main: `src/${name}/main.ts`, env: own, logDir: join(dir, 'logs'), port, metricsPort })
  const services = await step('starting gateway, processor, api and reconciler', 'about 3 s', () =>
    Promise.all([
      start('gateway', GATEWAY_PORT, 9464),
      start('processor', 0, 9465),
      start('api', 8081, 9466),
      start('reconcile', 0, 9467, asking),
    ]),
  )
  const [gateway, processor, api] = services
  writeEnv({ ...stack, MERCHANTS_DIR: keys.merchantsDir }, token)
  say(help(gateway, processor, api, token, await freeOrder(stack?.DATABASE_URL)))
  const stopped = untilStopped(services)
  starting.release()
  await stopped.finally(() =>
    step('stopping', 'about 5 s', async () => {
      rmSync(envFile, { force: true })
      await Promise.all(services.map((service) => service.stop()))
      await own?.stop()
    }),
  )
}

/** For a shell in which the command line speaks to what runs here, and `paidonce …` is written as in the documents. */
function writeEnv(env: Readonly<Record<string, string>>, token: string): void {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
  const cli = [process.execPath, join(import.meta.dirname, '..', 'src', 'cli', 'main.ts')].map(quoted).join(' ')
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`)
  mkdirSync(dir, { recursive: true })
  // Set for this one program alone: exported they would name the stack of a later `npm run demo`, too.
  const lines = [`export TOKEN=${quoted(token)}`, `paidonce() { ${[...variables, cli].join(' ')} "$@"; }`, '']
  writeFileSync(envFile, lines.join('\n'), { mode: 0o600 })
}

/** A number that no earlier start's walk through has used: what was done then is still there. */
async function freeOrder(databaseUrl: string | undefined): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ next: number }>(
      `select coalesce(max(substring(out_trade_no from '^A-([0-9]{1,6})$')::int), 0) + 1 as next from orders where merchant = $1`,
      [MERCHANT],
    )
    return `A-${rows[0]?.next ?? 1}`
  } finally {
    await client.end()
  }
}

const help = (gateway: Service, processor: Service, api: Service, token: string, order: string) => `
paidonce runs until Ctrl-C. Logs: .local/start/logs

  gateway    ${gateway.url}/callbacks/:provider/${MERCHANT}     metrics ${gateway.metricsUrl}/metrics
  api        ${api.url}/v1/orders                          metrics ${api.metricsUrl}/metrics
  processor                                                      metrics ${processor.metricsUrl}/metrics

Create an order:

  curl -s ${api.url}/v1/orders -H 'authorization: Bearer ${token}' -H 'content-type: application/json' \\
    -d '{"merchant":"${MERCHANT}","out_trade_no":"${order}","amount_minor":990,"currency":"CNY","expires_at":"${tomorrow()}"}'

Pay it, as WeChat Pay would, three times at once:

  npm run -s simulate -- pay ${order} --amount-minor 990 --copies 3${gatewayFlag(gateway)}

See what became of it:

  curl -s ${api.url}/v1/orders/${MERCHANT}/${order}/timeline -H 'authorization: Bearer ${token}'

Or with the command line, for which this file sets the variables:

  . ${relative(process.cwd(), envFile)}
  paidonce order timeline ${MERCHANT} ${order}
`
const gatewayFlag = ({ url }: Service) => (url.endsWith(`:${GATEWAY_PORT}`) ? '' : ` --gateway ${url}`)
const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z/, 'Z')

try {
  await main()
} catch (error) {
  const mistake = usageMistake(error)
  say(mistake === undefined ? (error instanceof Error ? error.message : String(error)) : `${mistake}: usage: npm start`)
  process.exitCode = mistake !== undefined ? 2 : error instanceof MissingPrograms ? 3 : 1
}
// Pools and readers of a failed start must not keep the process.
process.exit()

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startChild, type Child } from '../helpers/child.ts'
import { anEvent, createDownstream, type Downstream } from '../helpers/consumer.ts'
import { until } from '../helpers/until.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
/** It uses kafkajs for things of its own, of which the kit must have another copy: ours has guards. */
const WORKER = `import kafkajs from 'kafkajs'
import { inbox, runConsumer } from 'paidonce/consumer'
if (Object.getOwnPropertySymbols(kafkajs).length > 0) throw new Error('the user’s own kafkajs was changed')
await runConsumer({
  topic: 'fulfillment.shipment.v1',
  prepare: (pool) => pool.query('create table if not exists seen (event_id text primary key)'),
  effects: { ship: inbox(async (tx, event) => void (await tx.query('insert into seen values ($1)', [event.eventId]))) },
})
`
/** What a user's compiler must accept, and one thing that it must not. */
const TYPED = `import { inbox, once, readConsumerConfig, startConsumer, type Fulfillment } from 'paidonce/consumer'
const seen: Fulfillment[] = []
export const running = startConsumer(readConsumerConfig(process.env), {
  topic: 'fulfillment.points.v1',
  effects: {
    grant: inbox(async (tx, event, { report }) => {
      seen.push(event)
      await tx.query('select 1')
      await report('shipment_completed', event.payload ?? '')
    }),
    revoke: once({
      call: async (event, { fence, signal }) => ({ kind: 'happened', reference: event.eventId + fence + signal.aborted }),
      ask: async () => ({ kind: 'did_not_happen' }),
    }),
  },
})
// @ts-expect-error a topic that is none
export const wrong = startConsumer(readConsumerConfig(process.env), { topic: 'payments.callback.v1', effects: {} })
`
/** The first block of the README as it stands, with the functions that it leaves to the reader. */
const README = `import type { Answer, CallContext, CallOutcome, Fulfillment } from 'paidonce/consumer'
${/```ts\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'src/consumer/README.md'), 'utf8'))?.[1] ?? ''}
declare function shipAtCarrier(event: Fulfillment, context: CallContext): Promise<CallOutcome>
declare function cancelAtCarrier(event: Fulfillment, context: CallContext): Promise<CallOutcome>
declare function askCarrier(event: Fulfillment, context: CallContext): Promise<Answer>
declare function askCarrierOfCancellation(event: Fulfillment, context: CallContext): Promise<Answer>
`

let project: string
let downstream: Downstream
let child: Child | undefined

/** An empty project with the packed package in its node_modules, and what that depends on, and nothing else. */
beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'paidonce-user-'))
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', project], { cwd: ROOT })
  const installed = join(project, 'node_modules', 'paidonce')
  mkdirSync(installed, { recursive: true })
  await run('tar', [
    '-xzf',
    join(project, stdout.trim().split('\n').at(-1) ?? ''),
    '-C',
    installed,
    '--strip-components=1',
  ])
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of [...Object.keys(dependencies), '@types/node', '@types/pg']) {
    const link = join(project, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), link)
  }
  writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}')
  writeFileSync(join(project, 'worker.js'), WORKER)
  writeFileSync(join(project, 'typed.ts'), TYPED)
  writeFileSync(join(project, 'readme.ts'), README)
}, 300_000)
afterEach(async () => {
  await child?.kill()
  child = undefined
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

test('a project that installs the package consumes events with it', async () => {
  downstream = await createDownstream(1)
  try {
    const events = Array.from({ length: 5 }, (_, n) => anEvent(`order-${n}`))
    await downstream.emit([...events, ...events])
    child = startChild(join(project, 'worker.js'), downstream.env({ LOG_LEVEL: 'info' }))
    await until('all are seen', async () => (await downstream.states())['done'] === 5, 50_000)
    const { rows } = await downstream.database.pool.query<{ event_id: string }>('select event_id from seen')
    expect(new Set(rows.map((row) => row.event_id))).toEqual(new Set(events.map(({ eventId }) => eventId)))
    expect((await child.stop()).code).toBe(0)
  } finally {
    await downstream.drop()
  }
}, 120_000)

test('a strict compiler takes its types, and the example of the README', async () => {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
  await run(process.execPath, [tsc, ...options, '--skipLibCheck', 'typed.ts', 'readme.ts'], { cwd: project }).catch(
    (error: unknown) => {
      throw new Error((error as { stdout: string }).stdout, { cause: error })
    },
  )
}, 120_000)

test('the package holds the kit and what it needs, no process of ours and no TypeScript source', () => {
  const installed = join(project, 'node_modules', 'paidonce')
  expect(readdirSync(join(installed, 'dist')).sort()).toEqual(['consumer', 'orders', 'providers', 'runtime', 'schemas'])
  const files = readdirSync(installed, { recursive: true }) as string[]
  const sources = files.filter((file) => file.startsWith('dist') && file.endsWith('.ts') && !file.endsWith('.d.ts'))
  expect(sources).toEqual([])
})

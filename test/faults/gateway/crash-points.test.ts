import { afterAll, beforeAll, expect, test } from 'vitest'
import { GATEWAY_CRASH_POINTS, type GatewayCrashPoint } from '../../../src/gateway/crash-points.ts'
import type { Gateway } from '../../../src/gateway/start.ts'
import { INPUT_TOPIC } from '../../../src/schemas/topics.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { startGatewayChild, type Child } from '../../helpers/child.ts'
import { CRASH_ACTIONS, type CrashAction } from '../../helpers/crash-here.ts'
import { createTrigger, writeTable, type Cell } from '../../helpers/crash-matrix.ts'
import { gatewayOf, ready } from '../../helpers/gateway.ts'
import { createInstallation, MERCHANT, type Installation } from '../../helpers/installation.ts'
import { javaConsume } from '../../helpers/java-consumer.ts'
import { createMerchant, type SignedCallback, type TestMerchant } from '../../helpers/merchant.ts'
import { startTestProcessor } from '../../helpers/processor.ts'

/**
 * A gateway is killed, stopped and held up at each of its points while it has a callback; the sender, which hears nothing
 * in time, sends it again to another gateway. Whoever heard success finds its callback in Kafka, and each order is paid
 * once.
 */
const SENDER_MS = 5_000
/** Longer than a gateway has for its answer. */
const DELAY_MS = 4_500

let installation: Installation
let merchant: TestMerchant
let other: Gateway
let published: readonly (string | null)[]
const cells: Cell[] = []
/** What was heard of the delivery that met the point: its order is named after the cell. */
const heard = new Map<string, number | 'nothing'>()
const nameOf = (point: GatewayCrashPoint, action: CrashAction) => `${point}-${action}`
const cellNames = CRASH_ACTIONS.flatMap((action) => GATEWAY_CRASH_POINTS.map((point) => [point, action] as const))

async function post(port: number, { path, headers, rawBody }: SignedCallback): Promise<number | 'nothing'> {
  const request = { method: 'POST', headers, body: new Uint8Array(rawBody), signal: AbortSignal.timeout(SENDER_MS) }
  return fetch(`http://127.0.0.1:${port}${path}`, request).then(
    async (answer) => {
      await answer.arrayBuffer()
      return answer.status
    },
    () => 'nothing' as const,
  )
}

interface Started {
  readonly child: Child
  readonly port: number
  /** Resolves when what it was doing when it was asked is done, so that a later answer cannot meet a point for it. */
  readonly atRest: () => Promise<unknown>
}

async function startChild(more: Readonly<Record<string, string>>): Promise<Started> {
  const child = startGatewayChild(installation.env({ MERCHANTS_DIR: merchant.dir, LOG_LEVEL: 'info', ...more }))
  await child.said('that it is ready', ({ msg }) => msg === 'gateway is ready', 60_000)
  const { port, metricsPort } = child.lines.find(({ msg }) => msg === 'gateway listens') ?? {}
  const atRest = () => fetch(`http://127.0.0.1:${Number(metricsPort)}/healthz`).then((answer) => answer.text())
  return { child, port: Number(port), atRest }
}

async function playAll(action: CrashAction) {
  const trigger = createTrigger()
  let running: Started | undefined
  for (const point of GATEWAY_CRASH_POINTS) {
    const name = nameOf(point, action)
    running ??= await startChild(trigger.env)
    const { child, port, atRest } = running
    await atRest()
    const reached = trigger.arm(point, action, DELAY_MS)
    const first = post(port, merchant.wechatpay(name))
    await reached()
    if (action === 'kill') {
      expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
      running = undefined
    }
    heard.set(name, await first)
    if (action === 'stop') child.signal('SIGCONT')
    expect(await post(other.port, merchant.wechatpay(name))).toBe(200)
    // One that goes on serves the next as if nothing had been.
    if (action !== 'kill') expect(await post(port, merchant.wechatpay(`${name}-next`))).toBe(200)
  }
  expect((await running?.child.stop())?.code ?? 0).toBe(0)
}

beforeAll(async () => {
  installation = await createInstallation({ partitions: 2 })
  merchant = createMerchant(MERCHANT)
  other = await gatewayOf(merchant, installation.topics.prefix)
  await ready(other)
  const names = cellNames.map(([point, action]) => nameOf(point, action))
  const more = cellNames
    .filter(([, action]) => action !== 'kill')
    .map(([point, action]) => `${nameOf(point, action)}-next`)
  await installation.createOrders([...names, ...more])
  await Promise.all(CRASH_ACTIONS.map(playAll))
  const records = await javaConsume({ topics: [installation.topics.name(INPUT_TOPIC)] })
  published = records.map(({ key }) => key)
}, 170_000)
afterAll(async () => {
  writeTable('gateway', GATEWAY_CRASH_POINTS, cells)
  await other.stop()
  merchant.remove()
  await installation.drop()
})

/** How many of its two deliveries may be in Kafka; of the first, nothing before it has left. */
const copiesOf = (point: GatewayCrashPoint, action: CrashAction): readonly number[] => {
  if (point === 'acked' || point === 'answer_written') return [2]
  return action === 'kill' && point !== 'produce_called' ? [1] : [1, 2]
}

test.each(cellNames)('%s, %s: what was answered with success is in Kafka', (point, action) => {
  const name = nameOf(point, action)
  const copies = published.filter((key) => key === name).length
  expect(copiesOf(point, action)).toContain(copies)
  // The second delivery was answered with success; was the first too, both are there.
  if (heard.get(name) === 200) expect(copies).toBe(2)
  cells.push({ point, action, says: `✓ heard ${heard.get(name) ?? '?'}, ${copies} in Kafka` })
})

test('each order is paid once', async () => {
  const processor = await startTestProcessor(installation)
  try {
    const next = cellNames
      .filter(([, action]) => action !== 'kill')
      .map(([point, action]) => `${nameOf(point, action)}-next`)
    const paid = [...cellNames.map(([point, action]) => nameOf(point, action)), ...next]
    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    expect(checkExactlyOnce(paid, events, { inOrder: false })).toEqual(nothingWrong(paid))
  } finally {
    await processor.stop()
  }
})

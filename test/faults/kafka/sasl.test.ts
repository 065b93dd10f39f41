import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startKafka, type KafkaCluster } from '../../../dev/parts/kafka.ts'
import { choosePort, isFree } from '../../../dev/parts/ports.ts'
import { dieTogether } from '../../../dev/parts/process.ts'
import { LOCAL_DIR } from '../../../dev/parts/state.ts'
import type { KafkaSettings } from '../../../src/runtime/kafka/connection.ts'
import { createFenceProducer } from '../../../src/runtime/kafka/fence-producer.ts'
import { createOffsetReader } from '../../../src/runtime/kafka/offset-reader.ts'
import { createTopicAdmin } from '../../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { until } from '../../helpers/until.ts'
import { freshName } from '../../runtime/kafka/support.ts'

let dir: string
let kafka: KafkaCluster
let port: number

/** A broker with a second listener that wants a name and a password. */
beforeAll(async () => {
  dieTogether({ signals: false })
  const parent = join(LOCAL_DIR, 'faults')
  mkdirSync(parent, { recursive: true })
  dir = mkdtempSync(join(parent, 'sasl-'))
  const controller = await choosePort()
  port = await choosePort()
  let plain = port + 1
  while (!(await isFree(plain))) plain++
  const jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_paidonce="right-secret";'
  kafka = await startKafka({
    dir,
    preferredPort: plain,
    settings: [
      `listeners=PLAINTEXT://127.0.0.1:${plain},CONTROLLER://127.0.0.1:${controller},SASL://127.0.0.1:${port}`,
      `controller.quorum.voters=1@127.0.0.1:${controller}`,
      `advertised.listeners=PLAINTEXT://127.0.0.1:${plain},SASL://127.0.0.1:${port}`,
      'listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT',
      'listener.name.sasl.sasl.enabled.mechanisms=PLAIN',
      `listener.name.sasl.plain.sasl.jaas.config=${jaas}`,
    ],
  })
})
afterAll(async () => {
  for (const node of kafka.nodes) await node.kill()
  rmSync(dir, { recursive: true, force: true })
})

const settings = (password: string): KafkaSettings => ({
  brokers: [`127.0.0.1:${port}`],
  ssl: false,
  sasl: { mechanism: 'plain', username: 'paidonce', password },
})

function capturedLog() {
  const lines: string[] = []
  return { log: createLog('test', 'trace', { write: (line) => void lines.push(line) }), lines }
}

test('the right password opens admin, offsets and transactions, and is never logged', async () => {
  const { log, lines } = capturedLog()
  const topic = freshName('sasl')
  const admin = createTopicAdmin(settings('right-secret'), log)
  const spec = { partitions: 1, replicationFactor: 1, minInsyncReplicas: 1, retentionMs: 3_600_000 }
  expect(await admin.ensureTopics([{ ...spec, topic }])).toEqual([topic])
  const { fence } = createFenceProducer(settings('right-secret'), log)
  // The first offset of a new cluster meets a coordinator that is still being made: a lane fences anew then.
  await until('an offset is committed', async () => {
    const lane = await fence(`${topic}-lane-0`)
    await lane.commit([], [{ group: topic, topic, partition: 0, offset: 5 }])
    await lane.close()
    return true
  })
  const reader = await createOffsetReader(settings('right-secret'), log)
  await createFenceProducer(settings('right-secret'), log)
    .fence(`${topic}-lane-0`)
    .then((next) => next.close())
  expect(await reader.committed(topic, topic, 0)).toMatchObject({ offset: 5 })
  await Promise.all([admin.close(), reader.close()])
  expect(lines.join()).not.toContain('right-secret')
})

test('the wrong one is refused at once, by name, and is never logged', async () => {
  const { log, lines } = capturedLog()
  const startedMs = performance.now()
  await expect(createOffsetReader(settings('wrong-secret'), log)).rejects.toThrow('Authentication failed')
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  expect(lines.join()).not.toContain('wrong-secret')
})

import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { sendAgain } from '../../src/cli/send-again.ts'
import { createFenceProducer } from '../../src/runtime/kafka/fence-producer.ts'
import { Kafka, logLevel } from '../../src/runtime/kafka/kafkajs.ts'
import { createTopicAdmin } from '../../src/runtime/kafka/topic-admin.ts'
import { createLog } from '../../src/runtime/log.ts'
import {
  DEAD_LETTER_TOPIC,
  INPUT_TOPIC,
  INVENTORY_TOPIC,
  ledgerGroup,
  POINTS_TOPIC,
  RETENTION_MS,
  SHIPMENT_TOPIC,
  transactionalId,
  type TopicName,
} from '../../src/schemas/topics.ts'
import { countEventsOf } from '../../src/store/events-of-topic.ts'
import type { RunningProcessor } from '../../src/processor/start.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { groupTool } from '../helpers/groups.ts'
import { keepTables } from '../helpers/keep-tables.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { javaConsume } from '../helpers/java-consumer.ts'
import { commandOf, expectAudit, follow, remedyOf } from '../helpers/remedy.ts'
import { stackEnv } from '../helpers/stack.ts'
import { until } from '../helpers/until.ts'

const LANES = 2
let it: Installation
let paid: string[]
beforeEach(async () => {
  it = await createInstallation({ partitions: LANES })
  paid = []
  await pay(12)
  await work(untilOut)
})
afterEach(() => it.drop())

async function pay(count: number) {
  const orders = Array.from({ length: count }, (_, n) => `R${paid.length + n}`)
  await it.createOrders(orders)
  await it.send(orders.map((order) => payment(order)))
  paid.push(...orders)
}
/** A processor comes, does what there is to do, and goes: Kafka's tools want a group without members. */
async function work<T>(then: (processor: RunningProcessor) => Promise<T>): Promise<T> {
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], LANES, 30_000)
    return await then(processor)
  } finally {
    await processor.stop()
  }
}
const untilOut = (processor: RunningProcessor) =>
  until(
    'all events are out',
    () => processor.lanes().reduce((sum, { ledger = 0 }) => sum + ledger, 0) === 3 * paid.length,
    60_000,
  )
const untilHalted =
  (...reasons: string[]) =>
  (processor: RunningProcessor) =>
    until(
      `the lanes halt: ${reasons.join(' or ')}`,
      () => processor.lanes().every(({ haltReason = '' }) => reasons.includes(haltReason)),
      30_000,
    )
/** The remedy that the page gives, on every lane, beside a processor; then a few more payments. */
async function remedy(heading: string) {
  for (const command of remedyOf(heading).filter((line) => !line.includes('audit run')))
    for (const lane of command.includes('lane rebuild') ? [0, 1] : [0]) {
      const { code, stderr, stdout } = await follow(command, { lane, lanes: LANES }, it.env())
      expect([command, code, code === 0 ? '' : stderr + stdout]).toEqual([command, 0, ''])
    }
}
async function expectExact(heading: string) {
  await pay(4)
  await work(untilOut)
  await expectAudit(heading, it.env(), paid.length)
  const seen = await readEvents(it.topics, { atLeast: 3 * paid.length })
  expect(checkExactlyOnce(paid, seen, { inOrder: false })).toEqual(nothingWrong(paid))
}

const LEDGER = 'The ledger group is gone, or a tool has set it'
test('the ledger group is deleted: halted; the remedy ends exact', async () => {
  await groupTool(it).delete('ledger')
  await work(async (processor) => {
    await untilHalted('ledger_missing')(processor)
    await remedy(LEDGER)
  })
  await expectExact(LEDGER)
})

test('both groups are deleted: halted; the remedy ends exact', async () => {
  await groupTool(it).delete('ledger')
  await groupTool(it).delete('input')
  await work(async (processor) => {
    await untilHalted('offsets_missing')(processor)
    await remedy(LEDGER)
  })
  await expectExact(LEDGER)
})

test.each([
  ['to the earliest', () => 0],
  ['back', (end: number) => end - 2],
  ['to the latest, though not all is applied', (end: number) => end + 2],
  ['beyond the end', () => 1_000_000],
  ['away', undefined],
])('offsets of the input group are reset %s: exact, without doing anything', async (_, to) => {
  const before = await groupTool(it).offsets('input')
  await pay(4)
  if (to === undefined) await groupTool(it).delete('input')
  else for (const lane of [0, 1]) await groupTool(it).set('input', lane, to(before.get(lane)?.offset ?? 0))
  await work(untilOut)
  await expectExact('Offsets of the input group were reset')
})

const admin = () => {
  const made = createTopicAdmin(
    { brokers: stackEnv().KAFKA_BROKERS.split(','), ssl: false },
    createLog('test', 'silent'),
  )
  onTestFinished(() => made.close())
  return made
}
async function recreate(topic: TopicName) {
  await admin().deleteTopics([it.topics.name(topic)])
  await until('it is gone', async () => (await admin().describeTopics([it.topics.name(topic)])).size === 0)
}

const ANEW = 'The input topic was made anew'
test('the input topic is deleted, and made anew: halted; the remedy ends exact', async () => {
  await recreate(INPUT_TOPIC)
  await follow(commandOf(ANEW, 'topics create'), { lanes: LANES }, it.env())
  await pay(3)
  await work(async (processor) => {
    await untilHalted('applied_above_log', 'offsets_missing')(processor)
    await remedy(ANEW)
    await untilOut(processor)
  })
  await expectExact(ANEW)
})

test('it has grown past what was applied before anybody looked: no record of it is passed over', async () => {
  await recreate(INPUT_TOPIC)
  await follow(commandOf(ANEW, 'topics create'), { lanes: LANES }, it.env())
  await pay(40)
  await work(async (processor) => {
    await untilHalted('offsets_missing')(processor)
    const plain = await follow(commandOf(ANEW, 'lane rebuild').replace(' --from-start', ''), { lane: 0 }, it.env())
    expect([plain.code, plain.stdout]).toEqual([3, expect.stringContaining('was about R')])
    await remedy(ANEW)
    await untilOut(processor)
  })
  await expectExact(ANEW)
})

test('Postgres is set back to before it was made anew: halted, though all offsets fit; the remedy ends exact', async () => {
  const setBack = await keepTables(it.database.pool)
  await recreate(INPUT_TOPIC)
  await follow(commandOf(ANEW, 'topics create'), { lanes: LANES }, it.env())
  const before = paid.length
  await pay(40)
  await work(async (processor) => {
    await untilHalted('offsets_missing')(processor)
    await remedy(ANEW)
    await untilOut(processor)
  })
  await setBack()
  await work(async (processor) => {
    await untilHalted('input_made_anew')(processor)
    const plain = await follow(commandOf(ANEW, 'lane rebuild').replace(' --from-start', ''), { lane: 0 }, it.env())
    expect([plain.code, plain.stdout]).toEqual([
      3,
      expect.stringContaining('has applied the first log. The lane stays'),
    ])
    await remedy(ANEW)
    // The order service sends again what it has created since.
    await it.createOrders(paid.slice(before))
    await untilOut(processor)
    await until('all that was out is derived again', async () => {
      const { rows } = await it.database.pool.query<{ left: string }>('select count(*) as left from imported_events')
      return rows[0]?.left === '0'
    })
  })
  await expectExact(ANEW)
})

const OUTPUT = 'An output topic was made anew'
async function make(topic: TopicName) {
  const spec = { topic: it.topics.name(topic), partitions: LANES, replicationFactor: 1, minInsyncReplicas: 1 }
  await admin().ensureTopics([{ ...spec, retentionMs: RETENTION_MS[topic] }])
}

test('an output topic is made anew while no processor runs: halted at the start; the remedy ends exact', async () => {
  await recreate(SHIPMENT_TOPIC)
  await make(SHIPMENT_TOPIC)
  await work(async (processor) => {
    await untilHalted('output_made_anew')(processor)
    await remedy(OUTPUT)
    await untilOut(processor)
  })
  await expectExact(OUTPUT)
})

test('one is deleted beside a lane that works, and made by the remedy: halted; it ends exact', async () => {
  await work(async (processor) => {
    await recreate(POINTS_TOPIC)
    await pay(8)
    await until('it waits for the topic', () => processor.lanes().every(({ state }) => state === 'fencing'), 60_000)
    await follow(commandOf(OUTPUT, 'topics create'), { lanes: LANES }, it.env())
    await untilHalted('output_made_anew')(processor)
    await remedy(OUTPUT)
    await untilOut(processor)
  })
  await expectExact(OUTPUT)
})

test('one is made anew between two events of a lane that works: nothing of the second is in it; it ends exact', async () => {
  await work(async (processor) => {
    await recreate(INVENTORY_TOPIC)
    await make(INVENTORY_TOPIC)
    await pay(8)
    await untilHalted('output_made_anew')(processor)
    const seen = await readEvents(it.topics)
    expect(seen.filter(({ topic }) => topic === INVENTORY_TOPIC)).toEqual([])
    await remedy(OUTPUT)
    await untilOut(processor)
  })
  await expectExact(OUTPUT)
})

/** As a run of `lane rebuild` that dies when it has sent events 0 to 9 of lane 1 again. */
async function sendPart() {
  const [log, { appId, prefix: topicPrefix }] = [createLog('test', 'silent'), it.topics]
  const brokers = stackEnv().KAFKA_BROKERS.split(',')
  const producer = await createFenceProducer({ brokers, ssl: false }, log).fence(transactionalId(appId, 1))
  const ledger = (await groupTool(it).offsets('ledger')).get(1)
  if (ledger === undefined) throw new Error('the lane has no ledger')
  const range = { lane: 1, topic: SHIPMENT_TOPIC, after: -1, below: 10, since: new Date(0) }
  const events = await countEventsOf(it.database.pool, range)
  await sendAgain(
    producer,
    [{ ...range, events }],
    { group: ledgerGroup(appId), topic: it.topics.name(INPUT_TOPIC), partition: 1, ...ledger },
    { pool: it.database.pool, appId, topicPrefix, log, registryUrl: stackEnv().SCHEMA_REGISTRY_URL },
  )
  await producer.close()
  return events
}

test('the remedy dies when it has sent a part again, and somebody resumes: halted again; run again, it ends exact', async () => {
  await recreate(SHIPMENT_TOPIC)
  await make(SHIPMENT_TOPIC)
  await work(async (processor) => {
    await untilHalted('output_made_anew')(processor)
    expect(await sendPart()).toBe(4)
    const resume = "paidonce lane resume 1 --reason 'it was sent again' --yes"
    const fences = async () => {
      const { rows } = await it.database.pool.query<{ fences: string }>('select fences from lanes where lane = 1')
      return rows[0]?.fences
    }
    const before = await fences()
    expect((await follow(resume, {}, it.env())).code).toBe(0)
    await until('it has fenced anew', async () => (await fences()) !== before, 30_000)
    await until('its row says so', async () => {
      const { rows } = await it.database.pool.query<{ halted_reason: string | null }>(
        'select halted_reason from lanes where lane = 1',
      )
      return rows[0]?.halted_reason === 'output_made_anew'
    })
    await remedy(OUTPUT)
    await untilOut(processor)
  })
  await expectExact(OUTPUT)
})

test('nothing of one that was made anew is sent again: the audit names what is gone of it, and nothing else', async () => {
  await recreate(SHIPMENT_TOPIC)
  await make(SHIPMENT_TOPIC)
  const before = paid.length
  await pay(4)
  await work(async (processor) => {
    await untilHalted('output_made_anew')(processor)
    for (const lane of [0, 1]) {
      const command = commandOf(OUTPUT, 'lane rebuild')
      const undecided = await follow(command.replace(' --send-again all', ''), { lane }, it.env())
      expect([undecided.code, undecided.stdout]).toEqual([
        3,
        expect.stringMatching(/^Lost: fulfillment.shipment.v1 \d+ events/),
      ])
      expect((await follow(command.replace(' all', ' none'), { lane }, it.env())).code).toBe(0)
    }
    await untilOut(processor)
  })
  const { code, stdout } = await follow(
    'paidonce audit run --since 7d --until 2099-01-01T00:00:00Z --output json',
    {},
    it.env(),
  )
  const { counts, findings } = JSON.parse(stdout) as {
    counts: Record<string, number>
    findings: { finding: string; out_trade_no: string; topic: string }[]
  }
  expect([code, counts]).toEqual([1, { missing: before, duplicate: 0, amount_mismatch: 0, extra: 0, late: 0 }])
  expect(findings.map(({ out_trade_no: order }) => order).sort()).toEqual(paid.slice(0, before).sort())
  expect(new Set(findings.map(({ topic }) => topic))).toEqual(new Set([SHIPMENT_TOPIC]))
})

const ADDED = 'Partitions were added by mistake'
async function addPartition(topic: TopicName) {
  const kafka = new Kafka({ brokers: stackEnv().KAFKA_BROKERS.split(','), logLevel: logLevel.NOTHING })
  const client = kafka.admin()
  await client.connect()
  await client.createPartitions({ topicPartitions: [{ topic: it.topics.name(topic), count: LANES + 1 }] })
  await client.disconnect()
}
async function expectRefusal(topic: TopicName) {
  const fatal = Promise.withResolvers<Error>()
  const processor = await startTestProcessor(it, {}, { onFatal: fatal.resolve })
  try {
    expect((await fatal.promise).message).toContain(
      `${it.topics.name(topic)} has ${LANES + 1} partitions, ${LANES} are expected`,
    )
  } finally {
    await processor.stop()
  }
}

test('a partition is added to the input topic: no processor starts; made anew and read from its start, it ends exact', async () => {
  await addPartition(INPUT_TOPIC)
  await expectRefusal(INPUT_TOPIC)
  await recreate(INPUT_TOPIC)
  await follow(commandOf(ADDED, 'topics create'), { lanes: LANES }, it.env())
  await pay(3)
  await work(async (processor) => {
    await untilHalted('applied_above_log', 'offsets_missing')(processor)
    await remedy(ANEW)
    await untilOut(processor)
  })
  await expectExact(ANEW)
})

test('records lie in the added partition, and others are not applied: kept, sent into the new topic, it ends exact', async () => {
  const late = Array.from({ length: 9 }, (_, n) => `L${n}`)
  await it.createOrders(late)
  await addPartition(INPUT_TOPIC)
  // As a gateway keys that knows of three: into any of the partitions, the first two being full of lanes' orders.
  const kafka = new Kafka({ brokers: stackEnv().KAFKA_BROKERS.split(','), logLevel: logLevel.NOTHING })
  const producer = kafka.producer({ allowAutoTopicCreation: false })
  await producer.connect()
  const messages = late.map((order, n) => ({ key: order, value: it.encode(payment(order).callback), partition: n % 3 }))
  await until('the partition has a leader', () =>
    producer.send({ topic: it.topics.name(INPUT_TOPIC), messages, acks: -1 }),
  )
  await producer.disconnect()
  paid.push(...late)
  await expectRefusal(INPUT_TOPIC)

  const file = join(await mkdtemp(join(tmpdir(), 'paidonce-')), 'unapplied.jsonl')
  const keep = (verb: string) => commandOf(ADDED, `input ${verb}`).replace('unapplied.jsonl', file)
  const saved = await follow(keep('save'), {}, it.env())
  expect([saved.code, saved.stdout]).toEqual([0, expect.stringContaining('9 records are in')])
  const early = await follow(keep('send'), {}, it.env())
  expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('has 3 partitions, 2 are recorded')])
  await recreate(INPUT_TOPIC)
  await follow(commandOf(ADDED, 'topics create'), { lanes: LANES }, it.env())
  expect((await follow(keep('send'), {}, it.env())).code).toBe(0)
  await work(async (processor) => {
    await untilHalted('applied_above_log', 'offsets_missing')(processor)
    await remedy(ANEW)
    await untilOut(processor)
  })
  await expectExact(ANEW)
})

test('dead letters at the same offset of the old and the new input topic: no two notices have one id', async () => {
  const bury = (count: number) =>
    Array.from({ length: count }, () => it.sendRaw(0, null, Buffer.from('no schema'))).reduce((a, b) => a.then(() => b))
  const untilBuried = (count: number) => (processor: RunningProcessor) =>
    until(
      `${count} notices are out`,
      () => processor.lanes().reduce((sum, { ledger = 0 }) => sum + ledger, 0) === 3 * paid.length + count,
      60_000,
    )
  await bury(1)
  await work(untilBuried(1))
  for (const round of [1, 2]) {
    if (round === 1) {
      await recreate(INPUT_TOPIC)
      await follow(commandOf(ANEW, 'topics create'), { lanes: LANES }, it.env())
      await bury(6)
    } else await groupTool(it).delete('ledger') // The same topic is read from its start once more.
    await work(async (processor) => {
      await untilHalted('applied_above_log', 'offsets_missing', 'ledger_missing')(processor)
      await remedy(ANEW)
      await untilBuried(1 + 6 * round)(processor)
    })
  }
  const notices = await javaConsume({ topics: [it.topics.name(DEAD_LETTER_TOPIC)], atLeast: 13 })
  expect(notices).toHaveLength(13)
  expect(new Set(notices.map(({ headers }) => headers['ce_id'])).size).toBe(13)
})

test('a partition is added to an output topic: no processor starts; made anew and sent again, it ends exact', async () => {
  await addPartition(SHIPMENT_TOPIC)
  await expectRefusal(SHIPMENT_TOPIC)
  await recreate(SHIPMENT_TOPIC)
  await follow(commandOf(ADDED, 'topics create'), { lanes: LANES }, it.env())
  await pay(3)
  await work(async (processor) => {
    await untilHalted('output_made_anew')(processor)
    await remedy(OUTPUT)
    await untilOut(processor)
  })
  await expectExact(OUTPUT)
})

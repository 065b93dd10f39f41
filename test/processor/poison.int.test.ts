import { expect, test } from 'vitest'
import { DEAD_LETTER_TOPIC } from '../../src/schemas/topics.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment } from '../helpers/installation.ts'
import { javaConsume } from '../helpers/java-consumer.ts'
import { metricOf, probe, startTestProcessor } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

test('records that cannot be processed become dead letters, each once, and the others go on', async () => {
  const installation = await createInstallation({ partitions: 1 })
  const paid = ['P1', 'P2', 'P3', 'P4']
  await installation.createOrders(paid)
  const unknownSchema = installation.encode(payment('P1').callback)
  unknownSchema.writeUInt32BE(4_000_000, 1)
  const misrouted = { ...payment('X1'), key: 'X2' }
  const poison: [string, () => Promise<void>][] = [
    ['undecodable', () => installation.sendRaw(0, 'one byte', Buffer.from([0]))],
    ['undecodable', () => installation.sendRaw(0, 'not avro', Buffer.from('{"json": true}'))],
    ['undecodable', () => installation.sendRaw(0, null, Buffer.alloc(600_000, 7))],
    ['undecodable', () => installation.send([payment('N1', { providerRef: 'wechatpay:\0' })])],
    ['undecodable', () => installation.send([payment('N2', { providerRef: 'x'.repeat(257) })])],
    ['invalid_identity', () => installation.send([payment('L'.repeat(65))])],
    ['misrouted', () => installation.send([misrouted])],
    [
      'unsupported',
      () => installation.send([{ ...payment('U1'), callback: { ...payment('U1').callback, facts: [] } }]),
    ],
    ['unknown_schema', () => installation.sendRaw(0, 'P1', unknownSchema)],
  ]
  // Interleaved, so that each poisoned record has good ones on both sides.
  await installation.send([payment('P1')])
  for (const [, send] of poison) {
    await send()
    await installation.send([payment('P2'), payment('P1')])
  }
  await installation.send([payment('P3')])
  const processor = await startTestProcessor(installation)
  try {
    // The unknown schema gets 30 s to appear.
    const reasons = await until(
      'all dead letters are kept',
      async () => {
        const { rows } = await installation.database.pool.query<{ reason: string }>(
          'select reason from dead_letters order by kafka_offset',
        )
        return rows.length === poison.length && rows.map(({ reason }) => reason)
      },
      45_000,
    )
    expect(reasons).toEqual(poison.map(([reason]) => reason))
    await installation.send([payment('P4')])
    const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    expect(checkExactlyOnce(paid, events)).toEqual(nothingWrong(paid))
    const notices = await javaConsume({ topics: [installation.topics.name(DEAD_LETTER_TOPIC)], atLeast: poison.length })
    expect(notices).toHaveLength(poison.length)
    const { text } = await probe(processor, '/metrics')
    expect(metricOf(text, 'paidonce_dead_letters_total')).toBe(poison.length)
    expect(metricOf(text, 'paidonce_dead_letters_total', 'reason="undecodable"')).toBe(5)
  } finally {
    await processor.stop()
    await installation.drop()
  }
}, 90_000)

test('more than 20 in the last 1,000 records halt the lane, and the other lane goes on', async () => {
  const installation = await createInstallation({ partitions: 2 })
  const [other] = ['F1', 'F2', 'F3', 'F4', 'F5'].filter((order) => installation.laneOf(order) === 1)
  if (other === undefined) throw new Error('no order of lane 1 among five')
  await installation.createOrders([other])
  for (let index = 0; index < 30; index++) await installation.sendRaw(0, 'x', Buffer.from([0, index]))
  const processor = await startTestProcessor(installation)
  try {
    await until('lane 0 halts', () => processor.lanes().some(({ lane, state }) => lane === 0 && state === 'halted'))
    const { rows } = await installation.database.pool.query<{ halted_reason: string; letters: number }>(
      'select halted_reason, (select count(*)::int from dead_letters) as letters from lanes where lane = 0',
    )
    expect(rows).toEqual([{ halted_reason: 'flood', letters: 21 }])
    await installation.send([payment(other)])
    const events = await readEvents(installation.topics, { atLeast: 3 })
    expect(checkExactlyOnce([other], events)).toEqual(nothingWrong([other]))
    const { text } = await probe(processor, '/readyz')
    expect(text).toBe('ok\n')
  } finally {
    await processor.stop()
    await installation.drop()
  }
})

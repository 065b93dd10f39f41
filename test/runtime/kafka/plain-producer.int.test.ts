import { connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createPlainProducer } from '../../../src/runtime/kafka/plain-producer.ts'
import { javaConsume } from '../../helpers/java-consumer.ts'
import { until } from '../../helpers/until.ts'
import { freshTopic, log, settings, testProducer, testReader, values } from './support.ts'

test('resolves when the records are in the partition named, with key and headers', async () => {
  const topic = await freshTopic(3)
  const producer = await testProducer(topic)
  expect(producer.partitionCount(topic)).toBe(3)
  const headers = { ce_type: '付款' }
  await producer.send(
    { topic, partition: 2, messages: [{ key: '订单1', value: Buffer.from([0, 255]), headers }] },
    5_000,
  )
  expect(await (await testReader()).logRange(topic, 2)).toEqual({ start: 0, end: 1 })
  expect(await javaConsume({ topics: [topic] })).toMatchObject([
    { partition: 2, key: '订单1', value: Buffer.from([0, 255]), headers },
  ])
})

test('many sends at a time each hear of their own records', async () => {
  const topic = await freshTopic(3)
  const producer = await testProducer(topic)
  const sends = Array.from({ length: 60 }, (_, i) => ({ topic, partition: i % 3, messages: values(`v${i}`) }))
  await Promise.all(sends.map((send) => producer.send(send, 5_000)))
  const reader = await testReader()
  const ends = await Promise.all([0, 1, 2].map(async (partition) => (await reader.logRange(topic, partition)).end))
  expect(ends).toEqual([20, 20, 20])
})

test('a partition that does not exist is an error, not a silent success', async () => {
  const topic = await freshTopic()
  const producer = await testProducer(topic)
  await expect(producer.send({ topic, partition: 9, messages: values('lost') }, 5_000)).rejects.toMatchObject({
    name: 'AckMismatch',
  })
})

test('a topic that does not exist is named, with the remedy', async () => {
  await expect(createPlainProducer(settings(), ['no-such-topic'], log)).rejects.toThrow(
    'Kafka has no topic no-such-topic: create it with `paidonce topics create`',
  )
})

test('a start that fails leaves no connection behind, as it is tried again for ever', async () => {
  const wire = await cuttableBroker()
  for (let tries = 0; tries < 3; tries++)
    await expect(createPlainProducer(wire.settings, ['no-such-topic'], log)).rejects.toThrow('no topic')
  expect(wire.connectionsSeen()).toBeGreaterThan(0)
  await until('no connection is open', () => wire.openConnections() === 0, 5_000)
})

/** The broker behind a wire that can be cut in silence, as when a machine loses power: no reset, no answer. */
async function cuttableBroker() {
  const [host, port] = (settings().brokers[0] ?? '').split(':')
  const [own, advertised] = [new Set<Socket>(), { host, port: Number(port) }]
  let [cut, seen, open] = [false, 0, 0]
  const server = createServer((client) => {
    seen += 1
    open += 1
    const broker = connect(advertised)
    own.add(client).add(broker)
    for (const socket of [client, broker]) socket.on('error', () => undefined)
    client.on('data', (bytes) => {
      if (!cut) broker.write(bytes)
    })
    broker.on('data', (bytes) => {
      if (!cut) client.write(redirect(bytes, advertised.port))
    })
    client.on('close', () => {
      open -= 1
      broker.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address() as { port: number }
  const redirect = (bytes: Buffer, from: number) => {
    // The metadata names the broker's own port; the client must come back through the wire.
    const [host, before, after] = [Buffer.from('127.0.0.1'), Buffer.alloc(4), Buffer.alloc(4)]
    before.writeInt32BE(from)
    after.writeInt32BE(address.port)
    const found = bytes.indexOf(Buffer.concat([host, before]))
    if (found >= 0) after.copy(bytes, found + host.length)
    return bytes
  }
  onTestFinished(() => {
    for (const socket of own) socket.destroy()
    server.close()
  })
  return {
    settings: { brokers: [`127.0.0.1:${address.port}`], ssl: false },
    /** Connections of now go silent; later ones are served. */
    cutConnections: () => {
      for (const socket of own) socket.removeAllListeners('data').resume()
    },
    connectionsSeen: () => seen,
    openConnections: () => open,
    setCut: (value: boolean) => (cut = value),
  }
}

test('a broker that does not answer costs the deadline, never more, and the late ack is ignored', async () => {
  const topic = await freshTopic()
  const wire = await cuttableBroker()
  const producer = await createPlainProducer(wire.settings, [topic], log)
  onTestFinished(() => producer.close())
  await producer.send({ topic, partition: 0, messages: values('before') }, 5_000)
  wire.setCut(true)
  const startedMs = performance.now()
  await expect(producer.send({ topic, partition: 0, messages: values('cut') }, 300)).rejects.toMatchObject({
    name: 'DeadlinePassed',
  })
  expect(performance.now() - startedMs).toBeLessThan(2_000)
  wire.setCut(false)
})

test('a connection that has died in silence is replaced after a few failures', async () => {
  const topic = await freshTopic()
  const wire = await cuttableBroker()
  const producer = await createPlainProducer(wire.settings, [topic], log)
  onTestFinished(() => producer.close())
  await producer.send({ topic, partition: 0, messages: values('before') }, 5_000)
  wire.cutConnections()
  const send = () => producer.send({ topic, partition: 0, messages: values('after') }, 200)
  const fails = () =>
    send().then(
      () => false,
      () => true,
    )
  expect([await fails(), await fails(), await fails()]).toEqual([true, true, true])
  await until('a send succeeds on a new connection', async () => !(await fails()), 5_000)
})

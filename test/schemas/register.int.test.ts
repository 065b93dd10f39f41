import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import avro from 'avsc'
import { expect, test } from 'vitest'
import { createLog } from '../../src/runtime/log.ts'
import type { Callback } from '../../src/schemas/callback.ts'
import { createCodec } from '../../src/schemas/codec.ts'
import { SCHEMAS, subjectOf } from '../../src/schemas/definitions.ts'
import { registerSchemas } from '../../src/schemas/register.ts'
import { RegistryUnavailable, SchemaNotRegistered } from '../../src/schemas/registry.ts'
import { INPUT_TOPIC, TOPICS } from '../../src/schemas/topics.ts'
import { stackEnv } from '../helpers/stack.ts'

const silent = createLog('test', 'silent')
const newPrefix = () => `s${randomBytes(5).toString('hex')}.`
const url = () => stackEnv().SCHEMA_REGISTRY_URL
const CALLBACK: Callback = {
  ...{ merchant: 'm', outTradeNo: 'T1', provider: 'worker', source: 'worker', messageType: 't', messageId: '' },
  ...{ receivedAtMs: 1, facts: [], instead: null, rawBody: Buffer.alloc(0), rawHeaders: {} },
}

async function request(method: string, path: string, body: object): Promise<{ status: number; id: number }> {
  const response = await fetch(url() + path, {
    method,
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, ...((await response.json()) as { id: number }) }
}
const versions = (subject: string, schema: object) =>
  request('POST', `/subjects/${subject}/versions`, { schema: JSON.stringify(schema) })

test('registers every subject, BACKWARD, once, also when several do it at the same time', async () => {
  const prefix = newPrefix()
  await expect(createCodec(url(), prefix, silent)).rejects.toThrow(SchemaNotRegistered)
  const rounds = await Promise.all([1, 2, 3].map(() => registerSchemas(url(), prefix)))
  const ids = rounds.map((round) => round.map((one) => ('schemaId' in one ? one.schemaId : one)))
  expect(ids[1]).toEqual(ids[0])
  expect(ids[2]).toEqual(ids[0])
  const again = await registerSchemas(url(), prefix)
  expect(again).toEqual(
    TOPICS.map((topic, i) => ({ kind: 'unchanged', subject: subjectOf(prefix, topic), schemaId: ids[0]?.[i] })),
  )
  for (const topic of TOPICS) {
    const config = await fetch(`${url()}/config/${subjectOf(prefix, topic)}`)
    expect(await config.json()).toMatchObject({ compatibilityLevel: 'BACKWARD' })
    const all = await fetch(`${url()}/subjects/${subjectOf(prefix, topic)}/versions`)
    expect(await all.json()).toEqual([1])
  }
  const codec = await createCodec(url(), prefix, silent)
  expect(codec.decodeCallback(codec.encode(INPUT_TOPIC, CALLBACK))).toEqual({ kind: 'callback', callback: CALLBACK })
})

test('a newer version under the same subject: its records decode here, and ours stay the ones we write', async () => {
  const prefix = newPrefix()
  await registerSchemas(url(), prefix)
  const codec = await createCodec(url(), prefix, silent)
  const schema = SCHEMAS[INPUT_TOPIC]
  const newer = {
    ...schema,
    fields: [...(schema.fields as object[]), { name: 'channel', type: 'string', default: '' }],
  }
  const { status, id } = await versions(subjectOf(prefix, INPUT_TOPIC), newer)
  expect(status).toBe(200)

  // A process of this version that starts after the newer one has registered.
  const later = await createCodec(url(), prefix, silent)
  expect(later.encode(INPUT_TOPIC, CALLBACK).equals(codec.encode(INPUT_TOPIC, CALLBACK))).toBe(true)
  const header = Buffer.alloc(5)
  header.writeUInt32BE(id, 1)
  const bytes = avro.Type.forSchema(newer as avro.Schema).toBuffer({ ...CALLBACK, channel: 'app' })
  const record = Buffer.concat([header, bytes])
  expect(codec.decodeCallback(record)).toEqual({ kind: 'unknown_schema', schemaId: id })
  expect(await codec.load(id)).toBe('loaded')
  expect(codec.decodeCallback(record)).toEqual({ kind: 'callback', callback: CALLBACK })
  expect((await registerSchemas(url(), prefix)).map(({ kind }) => kind)).toEqual(TOPICS.map(() => 'unchanged'))
})

test('after an upgrade: the registry takes this version beside the first one, whose records are still read', async () => {
  const prefix = newPrefix()
  const first = JSON.parse(readFileSync(join(import.meta.dirname, 'history/callback-1.avsc'), 'utf8')) as object
  const { id } = await versions(subjectOf(prefix, INPUT_TOPIC), first)
  await expect(createCodec(url(), prefix, silent)).rejects.toThrow(SchemaNotRegistered)
  expect((await registerSchemas(url(), prefix)).map(({ kind }) => kind)).toEqual(TOPICS.map(() => 'registered'))
  const codec = await createCodec(url(), prefix, silent)
  const header = Buffer.alloc(5)
  header.writeUInt32BE(id, 1)
  const record = Buffer.concat([header, avro.Type.forSchema(first as avro.Schema).toBuffer(CALLBACK)])
  expect(await codec.load(id)).toBe('loaded')
  expect(codec.decodeCallback(record)).toEqual({ kind: 'callback', callback: CALLBACK })
})

test('an id that nobody registered is unknown', async () => {
  const prefix = newPrefix()
  await registerSchemas(url(), prefix)
  const codec = await createCodec(url(), prefix, silent)
  expect(await codec.load(2_000_000_000)).toBe('unknown')
})

test('what is incompatible or under another rule is said, and nothing is changed', async () => {
  const prefix = newPrefix()
  const subject = subjectOf(prefix, INPUT_TOPIC)
  const other = {
    type: 'record',
    name: 'Callback',
    namespace: 'paidonce',
    fields: [{ name: 'merchant', type: 'long' }],
  }
  expect((await versions(subject, other)).status).toBe(200)
  const [first, ...others] = await registerSchemas(url(), prefix)
  expect(first).toMatchObject({ kind: 'incompatible', subject })
  expect(others.map(({ kind }) => kind)).toEqual(others.map(() => 'registered'))
  expect(await (await fetch(`${url()}/subjects/${subject}/versions`)).json()).toEqual([1])

  const strict = newPrefix()
  const [dlq] = TOPICS.slice(-1)
  const strictSubject = subjectOf(strict, dlq ?? '')
  await request('PUT', `/config/${strictSubject}`, { compatibility: 'FULL_TRANSITIVE' })
  expect((await registerSchemas(url(), strict)).at(-1)).toEqual({
    ...{ kind: 'other_compatibility', subject: strictSubject, found: 'FULL_TRANSITIVE' },
  })
})

test('a registry that does not answer', async () => {
  await expect(registerSchemas('http://127.0.0.1:1', newPrefix())).rejects.toThrow(RegistryUnavailable)
})

import type { Command } from 'commander'
import { KAFKA, readConfig, REGISTRY } from '../runtime/config.ts'
import type { Callback } from '../schemas/callback.ts'
import { deadLetterView } from '../store/dead-letter-view.ts'
import { readDeadLetter, type DeadLetterBytes } from '../store/read-dead-letters.ts'
import { cliLog, isSet, withDatabase } from './connect.ts'
import { filterOf, letterId } from './dlq-filter.ts'
import { CliFailure, EXIT } from './failure.ts'
import { hexDump } from './hex-dump.ts'
import { isoOf, listing, printable, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

/** `skipped`: there is no registry to ask, or it does not answer. */
type DecodedLetter =
  | { readonly kind: 'callback'; readonly callback: Callback }
  | { readonly kind: 'undecodable' | 'unknown_schema' | 'skipped'; readonly detail: string }

export const addDlqInspect = (noun: Command, run: Run) =>
  noun
    .command('inspect')
    .description('a dead letter whole: the decoded record, its headers, its bytes, and its replays')
    .argument('<id>', 'as in dlq list', letterId)
    .action((id: number, _options, command: Command) => run((context) => inspect(context, id), command))

async function inspect({ env }: CliContext, id: number): Promise<Output> {
  const { topic } = filterOf(env, {})
  const found = await withDatabase(env, (pool) => readDeadLetter(pool, topic, id))
  if (found === undefined)
    throw new CliFailure(EXIT.findings, `There is no dead letter ${id}.`, 'See: paidonce dlq list --status any')
  const { letter, bytes, replays } = found
  const decoded = await decode(env, bytes.value)
  const view = deadLetterView(letter)
  const headers = Object.entries(bytes.headers).map(([name, value]) => [name, value.toString('utf8')])
  const parts = [
    listing(view),
    `decoded\n${sayDecoded(decoded)}`,
    `headers\n${table(['name', 'value'], headers)}`,
    `key\n${hexDump(bytes.key)}`,
    `value\n${hexDump(bytes.value)}`,
  ]
  if (replays.length > 0)
    parts.push(
      `replays\n${table(
        ['run', 'count', 'sent', 'result', 'detail'],
        replays.map((r) => [r.runId, r.count, isoOf(r.sentAtMs), r.result ?? 'not known yet', r.detail]),
      )}`,
    )
  return {
    json: {
      ...view,
      decoded: decoded.kind === 'callback' ? { kind: decoded.kind, callback: callbackView(decoded.callback) } : decoded,
      ...bytesView(bytes),
      replays: replays.map((r) => ({
        ...{ id: r.id, run: r.runId, count: r.count, sent_at: isoOf(r.sentAtMs), result: r.result, detail: r.detail },
      })),
    },
    text: parts.join('\n\n'),
  }
}

const bytesView = ({ key, value, headers }: DeadLetterBytes) => ({
  key_hex: key?.toString('hex') ?? null,
  value_hex: value?.toString('hex') ?? null,
  headers: Object.fromEntries(Object.entries(headers).map(([name, bytes]) => [name, bytes.toString('utf8')])),
})

async function decode(env: NodeJS.ProcessEnv, value: Buffer | null): Promise<DecodedLetter> {
  if (!isSet(env, 'SCHEMA_REGISTRY_URL')) return { kind: 'skipped', detail: 'SCHEMA_REGISTRY_URL is not set' }
  const config = readConfig({ ...REGISTRY, TOPIC_PREFIX: KAFKA.TOPIC_PREFIX }, env)
  const { createCodec } = await import('../schemas/codec.ts')
  try {
    const codec = await createCodec(config.SCHEMA_REGISTRY_URL, config.TOPIC_PREFIX, cliLog(env))
    let decoded = codec.decodeCallback(value)
    if (decoded.kind === 'unknown_schema' && (await codec.load(decoded.schemaId)) === 'loaded')
      decoded = codec.decodeCallback(value)
    if (decoded.kind !== 'unknown_schema') return decoded
    return { kind: decoded.kind, detail: `the registry does not know schema ${decoded.schemaId}` }
  } catch (error) {
    if (!(error instanceof Error) || !REGISTRY_TROUBLE.has(error.name)) throw error
    return { kind: 'skipped', detail: error.message }
  }
}
/** Neither is the letter's fault, and its bytes can be shown all the same. */
const REGISTRY_TROUBLE: ReadonlySet<string> = new Set(['RegistryUnavailable', 'SchemaNotRegistered'])

/** The body as text if it is one: it is what the provider sent. */
const callbackView = ({ rawBody, receivedAtMs, ...callback }: Callback) => ({
  ...callback,
  receivedAt: isoOf(receivedAtMs),
  rawBody: rawBody.toString('utf8'),
})

function sayDecoded(decoded: DecodedLetter): string {
  if (decoded.kind !== 'callback') return `(${decoded.kind}: ${printable(decoded.detail)})`
  return JSON.stringify(callbackView(decoded.callback), null, 2)
    .split('\n')
    .map((line) => printable(line))
    .join('\n')
}

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { About, Capture, FaultLine, LogLine, Row, TableName, TopicRecord } from './capture.ts'
import { TABLES } from './capture.ts'
import { readMerchants, secretsOf } from './merchants.ts'
import { readEnds, readPlaces } from './read-places.ts'
import { readSegments } from './read-segments.ts'

/** Reads a folder that `dev/capture.ts` filled. @throws Error naming what is missing or cannot be read */
export function readCapture(dir: string): Capture {
  const text = (name: string) => readFileSync(join(dir, name), 'utf8')
  const lines = <T>(name: string): T[] =>
    text(name)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as T)
  const about = JSON.parse(text('about.json')) as About
  const folder = (name: string) => (existsSync(join(dir, name)) ? readdirSync(join(dir, name)).sort() : [])
  const merchants = readMerchants(join(dir, 'merchants'))
  return {
    ...{ about, merchants },
    log: lines<LogLine>('simulation.jsonl'),
    faults: lines<FaultLine>('faults.jsonl'),
    input: lines<TopicRecord>('input.jsonl'),
    output: lines<TopicRecord>('output.jsonl'),
    probe: lines<TopicRecord>('probe.jsonl'),
    batches: folder('segments').flatMap((node) => readSegments(node, text(join('segments', node)), about)),
    places: readPlaces(text('group-input.txt'), text('group-ledger.txt'), about),
    ends: readEnds(text('ends.txt')),
    tables: Object.fromEntries(TABLES.map((name) => [name, lines<Row>(`tables/${name}.jsonl`)])) as Record<
      TableName,
      Row[]
    >,
    schemas: Object.fromEntries(
      folder('schemas').map((name) => [name.replace('.json', ''), JSON.parse(text(join('schemas', name))) as unknown]),
    ),
    secrets: [...secretsOf(merchants), ...lines<{ name: string; value: string }>('secrets.jsonl')],
    logs: folder('logs').map((name) => ({ name, text: text(join('logs', name)) })),
    metrics: folder('metrics').map((name) => ({ name, text: text(join('metrics', name)) })),
    cli: folder('cli').map((name) => ({ name, text: text(join('cli', name)) })),
    samples: lines('samples.jsonl'),
  }
}

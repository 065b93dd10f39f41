import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { mustRun } from '../dev/parts/run.ts'
import { javaEnds, javaRead, type JavaRecord } from '../dev/parts/java-topics.ts'
import { PSQL, requirePrograms } from '../dev/parts/prerequisites.ts'
import { INPUT, OUTPUTS, TABLES, type About, type FaultLine, type Sample } from './checker/capture.ts'
import { captureCli } from './capture-cli.ts'
import { CONSUMER_GROUPS, DUMP_SEGMENTS, kafkaTool } from './system/kafka-tool.ts'

/** What of a run is to be written down for the checker. */
export interface Run {
  readonly about: Omit<About, 'postgresVersion'>
  /** Of the command line; without it, it is not asked. */
  readonly env?: NodeJS.ProcessEnv
  readonly brokers: string
  readonly databaseUrl: string
  readonly registryUrl: string
  readonly nodes: readonly { readonly name: string; readonly dataDir: string }[]
  readonly simulationLog: string
  readonly merchantsDir: string
  readonly logDir: string
  readonly probe: readonly JavaRecord[]
  readonly faults: readonly FaultLine[]
  readonly secrets: readonly { readonly name: string; readonly value: string }[]
  readonly samples: readonly Sample[]
  /** Of each process that is left, as Prometheus would scrape it. */
  readonly metrics: readonly { readonly name: string; readonly url: string }[]
}

const SCHEMAS_MAX = 20
const METRICS_MS_MAX = 10_000

/** Fills a folder with all that the checker reads, by tools that are not ours; what our command line shows is beside it. */
export async function captureRun(run: Run, dir: string): Promise<void> {
  const { about, brokers } = run
  const [input, ...outputs] = [INPUT, ...OUTPUTS].map((topic) => about.topicPrefix + topic)
  rmSync(dir, { recursive: true, force: true })
  for (const folder of ['tables', 'segments', 'schemas', 'logs', 'metrics', 'cli'])
    mkdirSync(join(dir, folder), { recursive: true })
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text)
  const lines = (name: string, values: readonly unknown[]) =>
    write(name, values.map((value) => `${JSON.stringify(value)}\n`).join(''))

  const postgresVersion = (await askPsql(run.databaseUrl, 'show server_version')).trim()
  write('about.json', JSON.stringify({ ...about, postgresVersion }))
  lines('faults.jsonl', run.faults)
  lines('samples.jsonl', run.samples)
  lines('secrets.jsonl', run.secrets)
  lines('probe.jsonl', run.probe.map(plain))
  cpSync(run.simulationLog, join(dir, 'simulation.jsonl'))
  cpSync(run.merchantsDir, join(dir, 'merchants'), { recursive: true })
  for (const file of globSync(join(run.logDir, '*.log'))) cpSync(file, join(dir, 'logs', basename(file)))
  for (const { name, url } of run.metrics) write(`metrics/${name}.txt`, await scraped(url))
  lines('input.jsonl', (await javaRead({ brokers, topics: [input ?? ''], deadlineMs: 120_000 })).map(plain))
  lines('output.jsonl', (await javaRead({ brokers, topics: outputs, deadlineMs: 120_000 })).map(plain))
  write('ends.txt', (await javaEnds(brokers, [input ?? '', ...outputs])).map((line) => `${line}\n`).join(''))
  for (const [name, group] of [
    ['input', about.appId],
    ['ledger', `${about.appId}.ledger`],
  ] as const)
    await kafkaTool(
      CONSUMER_GROUPS,
      ['--bootstrap-server', brokers, '--describe', '--offsets', '--group', group],
      join(dir, `group-${name}.txt`),
    )
  for (const node of run.nodes) await dumpSegments(node, about, join(dir, 'segments', node.name))
  await dumpTables(run.databaseUrl, join(dir, 'tables'))
  if (run.env !== undefined) await captureCli(run.env, join(dir, 'tables'), join(dir, 'cli'))
  for (let id = 1; id <= SCHEMAS_MAX; id++) {
    const answer = await fetch(`${run.registryUrl}/schemas/ids/${id}`)
    if (answer.ok) write(`schemas/${id}.json`, ((await answer.json()) as { schema: string }).schema)
  }
}

/** A run is judged also where one of its processes is not there any more. */
const scraped = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(METRICS_MS_MAX) }).then(
    (answer) => answer.text(),
    (error: unknown) => `# ${String(error)}\n`,
  )

const plain = ({ value, ...record }: JavaRecord) => ({ ...record, value: value?.toString('base64') ?? null })

/** The output topics' segments, and the offsets' topic with what was committed. */
async function dumpSegments(node: Run['nodes'][number], { topicPrefix }: Run['about'], file: string): Promise<void> {
  const logs = (...folders: readonly string[]) =>
    folders.flatMap((folder) => globSync(join(node.dataDir, folder, '*.log')).sort()).join(',')
  const deep = '--deep-iteration'
  const outputs = OUTPUTS.map((topic) => `${topicPrefix}${topic}-*`)
  await kafkaTool(DUMP_SEGMENTS, [deep, '--offsets-decoder', '--files', logs('__consumer_offsets-*')], file)
  await kafkaTool(DUMP_SEGMENTS, [deep, '--files', logs(...outputs)], file)
}

const execute = promisify(execFile)
async function askPsql(databaseUrl: string, statement: string): Promise<string> {
  const [psql = ''] = await requirePrograms([PSQL])
  return (await execute(psql, ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', databaseUrl, '-c', statement]))
    .stdout
}

/** Every table as JSON lines; the quote and the delimiter are bytes that JSON never has. */
async function dumpTables(databaseUrl: string, dir: string): Promise<void> {
  const [psql = ''] = await requirePrograms([PSQL])
  for (const table of TABLES) {
    const copy = `copy (select row_to_json(t)::text from ${table} t) to stdout with (format csv, quote e'\\x01', delimiter e'\\x02')`
    const file = join(dir, `${table}.jsonl`)
    await mustRun('sh', [
      '-c',
      '"$1" -X -q -v ON_ERROR_STOP=1 -d "$2" -c "$3" > "$4"',
      'sh',
      psql,
      databaseUrl,
      copy,
      file,
    ])
  }
}

import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { hashOf, once } from './cache.ts'
import { kafkaProgram, LOG4J } from './kafka-program.ts'
import { mustRun } from './run.ts'

const SOURCE = join(import.meta.dirname, '..', 'kafka', 'Topics.java')

/** A record as Kafka's own Java client sees it. */
export interface JavaRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly timestampMs: number
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly value: Buffer | null
}

export interface ReadOptions {
  readonly brokers: string
  readonly topics: readonly string[]
  /** Default `read_committed`. */
  readonly isolation?: 'read_committed' | 'read_uncommitted'
  /** Reads on past the end found at the start until so many records were seen. Default 0. */
  readonly atLeast?: number
  /** Default 30 s. */
  readonly deadlineMs?: number
}

/**
 * Reads whole topics with Kafka's Java client, independent of the client that wrote them (about 1 s of JVM start).
 * @throws Error when the deadline passes first
 */
export async function javaRead(options: ReadOptions): Promise<JavaRecord[]> {
  const { brokers, topics, isolation = 'read_committed', atLeast = 0, deadlineMs = 30_000 } = options
  const records: JavaRecord[] = []
  await javaTopics(['read', brokers, topics.join(','), isolation, String(atLeast), String(deadlineMs)], '', (line) => {
    const record = JSON.parse(line) as Omit<JavaRecord, 'value'> & { value: string | null }
    records.push({ ...record, value: record.value === null ? null : Buffer.from(record.value, 'base64') })
  })
  return records
}

/** Appends records as they are; without a partition, Kafka's own partitioner takes the key. @returns their places */
export async function javaWrite(
  brokers: string,
  records: readonly (Pick<JavaRecord, 'topic' | 'key' | 'value'> &
    Partial<Pick<JavaRecord, 'partition' | 'headers'>>)[],
  compression: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd' = 'none',
): Promise<{ partition: number; offset: number }[]> {
  const lines = records.map((record) => JSON.stringify({ ...record, value: record.value?.toString('base64') ?? null }))
  const places: { partition: number; offset: number }[] = []
  await javaTopics(['write', brokers, compression], `${lines.join('\n')}\n`, (line) => {
    const [partition, offset] = line.split(' ')
    places.push({ partition: Number(partition), offset: Number(offset) })
  })
  return places
}

/** Deletes every record of a partition before an offset, as Kafka's `kafka-delete-records` does. */
export async function javaDeleteBefore(brokers: string, topic: string, partition: number, before: number) {
  await javaTopics(['delete', brokers, topic, String(partition), String(before)], '', () => undefined)
}

/** Where each partition ends, for all and for read_committed readers, as `topic partition end stableEnd` a line. */
export async function javaEnds(brokers: string, topics: readonly string[]): Promise<string[]> {
  const lines: string[] = []
  await javaTopics(['ends', brokers, topics.join(',')], '', (line) => lines.push(line))
  return lines
}

/** Gives every partition its next replica as leader. @returns how many leaders moved */
export async function javaMoveLeaders(brokers: string, topics: readonly string[]): Promise<number> {
  let moved = 0
  await javaTopics(['move', brokers, topics.join(',')], '', (line) => (moved = Number(line)))
  return moved
}

/**
 * Reads topics on and on as a read_committed consumer, from their beginning; resolves when the reader has its partitions.
 * `seenMs` is when the record came out of `poll`. Stopping it reads what is there by then, if anybody answers.
 */
export async function javaFollow(
  brokers: string,
  topics: readonly string[],
  hear: (record: JavaRecord & { readonly seenMs: number }) => void,
): Promise<{ stop: () => Promise<void> }> {
  const ready = Promise.withResolvers<undefined>()
  const { child, ended } = await startTopics(['follow', brokers, topics.join(',')], (line) => {
    const heard = JSON.parse(line) as { ready?: true } & Omit<JavaRecord, 'value'> & {
        value: string | null
        seenMs: number
      }
    if (heard.ready === true) ready.resolve(undefined)
    else hear({ ...heard, value: heard.value === null ? null : Buffer.from(heard.value, 'base64') })
  })
  ended.catch(ready.reject)
  await ready.promise
  return {
    stop: async () => {
      child.stdin.write('\n')
      await ended
    },
  }
}

async function javaTopics(args: readonly string[], input: string, hear: (line: string) => void): Promise<void> {
  const { child, ended } = await startTopics(args, hear)
  child.stdin.end(input)
  await ended
}

/** Where the locale is not UTF-8, as in a container or a cron job, javac before 18 would take the source for ASCII. */
export async function compileTopics(dir: string): Promise<void> {
  const { java, classpath } = await kafkaProgram()
  await mustRun(join(dirname(java), 'javac'), ['-encoding', 'UTF-8', '-d', dir, '-cp', classpath, SOURCE])
}

async function startTopics(args: readonly string[], hear: (line: string) => void) {
  const { java, classpath } = await kafkaProgram()
  const classes = await once(`topics-${hashOf([SOURCE])}`, compileTopics)
  const flags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', `-Dlog4j2.configurationFile=${LOG4J}`]
  const child = spawn(
    java,
    [...flags, `-Dpaidonce.logs=${join(classes, 'logs')}`, '-cp', `${classes}:${classpath}`, 'Topics', ...args],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  )
  const closed = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
  closed.catch(() => undefined) // awaited below
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2_000)))
  child.stdin.on('error', () => undefined)
  const listen = async () => {
    for await (const line of createInterface({ input: child.stdout })) hear(line)
    const code = await closed
    if (code !== 0) throw new Error(`Topics ${args.join(' ')} exited ${code}: ${complaint}`)
  }
  const ended = listen()
  ended.catch(() => undefined) // awaited by the caller
  return { child, ended }
}

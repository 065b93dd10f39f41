import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createWriteStream, mkdirSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { pipeline } from 'node:stream/promises'
import { kafkaProgram, LOG4J } from '../../dev/parts/kafka-program.ts'

/** Kafka's own programs, by their classes. */
export const DUMP_SEGMENTS = 'org.apache.kafka.tools.DumpLogSegments'
export const CONSUMER_GROUPS = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand'

/** Runs one of Kafka's own programs; what it prints goes to a file. @throws Error with its complaint */
export async function kafkaTool(main: string, args: readonly string[], file: string): Promise<void> {
  const { java, classpath } = await kafkaProgram()
  mkdirSync(dirname(file), { recursive: true })
  const flags = ['-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', `-Dlog4j2.configurationFile=${LOG4J}`]
  const child = spawn(
    java,
    [...flags, `-Dpaidonce.logs=${join(tmpdir(), 'paidonce-tool')}`, '-cp', classpath, main, ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let complaint = ''
  child.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2_000)))
  const closed = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
  await pipeline(child.stdout, createWriteStream(file, { flags: 'a' }))
  const code = await closed
  if (code !== 0) throw new Error(`${main} ${args.join(' ')} exited ${code}: ${complaint}`)
}

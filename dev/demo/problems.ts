import type { Played } from './play.ts'
import type { Verdict } from './verdict.ts'
import type { WorkerCounts } from './workers.ts'

type Shown = Pick<Played, 'expected' | 'killedLanes' | 'takeovers' | 'workers'>

/** All that is wrong with a run, a line each; none: it showed what it is to show. */
export function problemsOf({ expected, killedLanes, takeovers, workers }: Shown, verdict: Verdict): string[] {
  return [
    ...verdict.lost.map((name) => `lost: ${name}`),
    ...verdict.duplicated.map((name) => `duplicated: ${name}`),
    ...verdict.phantom.map((name) => `event of an order that was not rightly paid: ${name}`),
    ...expected.wronglyAccepted.map(({ outTradeNo, defect }) => `accepted in spite of ${defect}: ${outTradeNo}`),
    ...ofWorkers(workers, verdict.paid),
    ...(verdict.paid === 0 ? ['no order was paid'] : []),
    ...(killedLanes.length === 0 ? ['the processor was not killed between Postgres and Kafka'] : []),
    ...(takeovers < 1 ? ['no fence found events that the killed processor had left'] : []),
  ]
}

function ofWorkers(workers: WorkerCounts, paid: number): string[] {
  const { shipments, shipped, stockDeducted, pointsGranted, unsettled } = workers
  return [
    ...(shipments === shipped ? [] : [`the carrier has shipped ${shipments} parcels for ${shipped} orders`]),
    ...(shipped === paid ? [] : [`the carrier has shipped ${shipped} orders, ${paid} are paid`]),
    ...(stockDeducted === paid ? [] : [`stock was deducted ${stockDeducted} times, for ${paid} paid orders`]),
    ...(pointsGranted === paid ? [] : [`points were granted ${pointsGranted} times, for ${paid} paid orders`]),
    ...(unsettled === 0 ? [] : [`${unsettled} events wait for a person`]),
  ]
}

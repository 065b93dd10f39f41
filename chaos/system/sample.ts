import type { Sample } from '../checker/capture.ts'
import type { Managed } from './managed.ts'
import type { World } from './world.ts'

const SAMPLE_MS = 2_000
const METRICS_MS_MAX = 1_000
const IN_FLIGHT = /^paidonce_gateway_in_flight_requests (\S+)$/m
/** Cumulative: `+Inf` are all. */
const ACCEPTED =
  /^paidonce_gateway_answer_seconds_bucket\{le="(4|\+Inf)",provider="[^"]*",outcome="accepted"\} (\d+)$/gm
const POOL = /^paidonce_postgres_pool\{pool="([^"]*)",state="(used|waiting)"\} (\d+)$/gm

/** Every two seconds: memory and open files of each process, what its own metrics say, events that wait in each lane. */
export function sample(world: World) {
  const samples: Sample[] = []
  const add = (name: string, what: Sample['what'], value: number | undefined, pid?: number) => {
    if (value !== undefined)
      samples.push({ name, what, value, atMs: Date.now(), ...(pid === undefined ? {} : { pid }) })
  }
  const ofLanes = once(async () => {
    for (const { lane, nextSeq, ledger } of await world.lanes.read()) add(`lane-${lane}`, 'unsent', nextSeq - ledger)
  })
  const ofMetrics = world.processes.map((one) =>
    once(async () => {
      for (const { name, what, value } of await figuresOf(one)) add(name, what, value, one.pid())
    }),
  )
  const timer = setInterval(() => {
    for (const one of world.processes) {
      add(one.name, 'rss_bytes', one.rssBytes(), one.pid())
      add(one.name, 'handles', one.handles())
    }
    for (const look of [ofLanes, ...ofMetrics]) look()
  }, SAMPLE_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return samples
    },
  }
}

/** Not again while it waits for somebody who is stopped, and what fails is looked at two seconds later. */
function once(look: () => Promise<void>): () => void {
  let isBusy = false
  return () => {
    if (isBusy) return
    isBusy = true
    look()
      .catch(() => undefined)
      .finally(() => (isBusy = false))
  }
}

type Figure = Pick<Sample, 'name' | 'what' | 'value'>

/** What a process says of itself, as Prometheus would read it. */
export async function figuresOf({ name, metricsUrl }: Pick<Managed, 'name' | 'metricsUrl'>): Promise<Figure[]> {
  const answer = await fetch(`${metricsUrl}/metrics`, { signal: AbortSignal.timeout(METRICS_MS_MAX) })
  const text = await answer.text()
  const figures: Figure[] = []
  const inFlight = IN_FLIGHT.exec(text)?.[1]
  if (inFlight !== undefined) {
    const [all, inTime] = ['+Inf', '4'].map((limit) =>
      [...text.matchAll(ACCEPTED)].reduce((sum, [, le, count]) => sum + (le === limit ? Number(count) : 0), 0),
    ) as [number, number]
    figures.push({ name, what: 'in_flight', value: Number(inFlight) })
    figures.push({ name, what: 'success_timed', value: all }, { name, what: 'success_late', value: all - inTime })
  }
  for (const [, pool = '', state, count] of text.matchAll(POOL))
    figures.push({
      name: pool === 'api-replay' ? pool : name,
      what: state === 'used' ? 'pool_used' : 'pool_waiting',
      value: Number(count),
    })
  return figures
}

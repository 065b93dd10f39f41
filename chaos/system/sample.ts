import type { Sample } from '../checker/capture.ts'
import type { Managed } from './managed.ts'
import type { World } from './world.ts'

const SAMPLE_MS = 2_000
const IN_FLIGHT = /^paidonce_gateway_in_flight_requests (\S+)$/m

/** Every two seconds: memory and open files of each process, requests in each gateway, events that wait in each lane. */
export function sample(world: World) {
  const samples: Sample[] = []
  const add = (name: string, what: Sample['what'], value: number | undefined, pid?: number) => {
    if (value !== undefined)
      samples.push({ name, what, value, atMs: Date.now(), ...(pid === undefined ? {} : { pid }) })
  }
  const processes = [...world.gateways, ...world.processors, world.api]
  const ofLanes = once(async () => {
    for (const { lane, nextSeq, ledger } of await world.lanes.read()) add(`lane-${lane}`, 'unsent', nextSeq - ledger)
  })
  const ofGateways = world.gateways.map((one) => once(async () => add(one.name, 'in_flight', await inFlight(one))))
  const timer = setInterval(() => {
    for (const one of processes) {
      add(one.name, 'rss_bytes', one.rssBytes(), one.pid())
      add(one.name, 'handles', one.handles())
    }
    for (const look of [ofLanes, ...ofGateways]) look()
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

async function inFlight({ metricsUrl }: Managed): Promise<number | undefined> {
  const answer = await fetch(`${metricsUrl}/metrics`, { signal: AbortSignal.timeout(1_000) })
  const figure = IN_FLIGHT.exec(await answer.text())?.[1]
  return figure === undefined ? undefined : Number(figure)
}

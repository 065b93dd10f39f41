import type { Bounded, Sample } from '../capture.ts'
import { slopesPerMin } from '../slope.ts'
import type { Oracle, Violation } from '../reading.ts'

const CLAUSE: Readonly<Record<Bounded, string>> = {
  ...{ rss_bytes: 'memory', handles: 'handles', in_flight: 'in_flight', unsent: 'unsent' },
  ...{ pool_used: 'pool', pool_waiting: 'pool' },
}
const isBounded = (what: Sample['what']): what is Bounded => what in CLAUSE

/** O12: memory, handles, connections, requests in flight and unsent events stay bounded; memory does not rise for ever. */
export const bounded: Oracle = {
  id: 'O12',
  about: 'memory, handles, pools, requests in flight and unsent events under their limits; memory does not keep rising',
  clauses: ['memory', 'handles', 'in_flight', 'unsent', 'pool', 'memory_grows'],
  check: ({ samples, about }) => {
    const { samplesMax, rssBytesPerMinMax } = about.limits
    const most = new Map<string, Sample>()
    for (const one of samples) {
      const name = `${one.name} ${one.what}`
      if (one.value > (most.get(name)?.value ?? -1)) most.set(name, one)
    }
    const violations = [...most.values()].flatMap(({ name, what, value }): Violation[] =>
      isBounded(what) && value > samplesMax[what] ? [{ clause: CLAUSE[what], what: `${name}: ${what} ${value}` }] : [],
    )
    for (const [name, perMin] of slopesPerMin(samples))
      if (perMin > rssBytesPerMinMax)
        violations.push({ clause: 'memory_grows', what: `${name}: ${Math.round(perMin)} bytes a minute` })
    return { examined: samples.length, violations }
  },
}

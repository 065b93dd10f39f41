import type { Sample } from '../capture.ts'
import { slopesPerMin } from '../slope.ts'
import type { Oracle, Violation } from '../reading.ts'

const CLAUSE: Readonly<Record<Sample['what'], string>> = {
  ...{ rss_bytes: 'memory', handles: 'handles', in_flight: 'in_flight', unsent: 'unsent' },
}

/** O12: memory, handles, requests in flight and unsent events stay bounded, and memory does not rise for ever. */
export const bounded: Oracle = {
  id: 'O12',
  about: 'memory, handles, requests in flight and unsent events under their limits; memory does not keep rising',
  clauses: ['memory', 'handles', 'in_flight', 'unsent', 'memory_grows'],
  check: ({ samples, about }) => {
    const { samplesMax, rssBytesPerMinMax } = about.limits
    const most = new Map<string, Sample>()
    for (const one of samples) {
      const name = `${one.name} ${one.what}`
      if (one.value > (most.get(name)?.value ?? -1)) most.set(name, one)
    }
    const violations = [...most.values()]
      .filter(({ what, value }) => value > samplesMax[what])
      .map(({ name, what, value }): Violation => ({ clause: CLAUSE[what], what: `${name}: ${what} ${value}` }))
    for (const [name, perMin] of slopesPerMin(samples))
      if (perMin > rssBytesPerMinMax)
        violations.push({ clause: 'memory_grows', what: `${name}: ${Math.round(perMin)} bytes a minute` })
    return { examined: samples.length, violations }
  },
}

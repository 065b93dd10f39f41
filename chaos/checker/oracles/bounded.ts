import type { Oracle } from '../reading.ts'

/** O12: memory stays bounded. */
export const bounded: Oracle = {
  id: 'O12',
  about: 'resident memory of every process under its limit',
  clauses: ['memory'],
  check: ({ samples, about }) => {
    const most = new Map<string, number>()
    for (const { name, rssBytes } of samples) most.set(name, Math.max(rssBytes, most.get(name) ?? 0))
    const violations = [...most]
      .filter(([, bytes]) => bytes > about.limits.rssBytesMax)
      .map(([name, bytes]) => ({ clause: 'memory', what: `${name}: ${bytes} bytes` }))
    return { examined: samples.length, violations }
  },
}

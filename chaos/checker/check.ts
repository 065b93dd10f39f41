import type { Capture } from './capture.ts'
import { createOpenssl, type Openssl } from './openssl.ts'
import { accepted } from './oracles/accepted.ts'
import { accounted } from './oracles/accounted.ts'
import { agreed } from './oracles/agreed.ts'
import { answered } from './oracles/answered.ts'
import { atomic } from './oracles/atomic.ts'
import { bounded } from './oracles/bounded.ts'
import { emitted } from './oracles/emitted.ts'
import { fenced } from './oracles/fenced.ts'
import { genuine } from './oracles/genuine.ts'
import { logged } from './oracles/logged.ts'
import { ordered } from './oracles/ordered.ts'
import { replayed } from './oracles/replayed.ts'
import { secret } from './oracles/secret.ts'
import { setAside } from './oracles/set-aside.ts'
import { settled } from './oracles/settled.ts'
import { summed } from './oracles/summed.ts'
import { read, type Oracle } from './reading.ts'

export interface Verdict {
  readonly ok: boolean
  readonly oracles: readonly {
    readonly id: string
    readonly about: string
    readonly examined: number
    /** By clause, how often. */
    readonly violated: Readonly<Record<string, number>>
    /** By reason, how often something was not held against it. */
    readonly excused: Readonly<Record<string, number>>
    /** The first of each clause. */
    readonly examples: readonly string[]
  }[]
}

const EXAMPLES_MAX = 10

export const oraclesOf = (openssl: Openssl): Oracle[] => [
  ...[accepted, genuine(openssl), replayed, emitted, atomic, ordered, fenced, settled, summed, answered, setAside],
  ...[bounded, secret, accounted, logged, agreed],
]

/** Holds a capture against every oracle. */
export async function check(capture: Capture, openssl: Openssl = createOpenssl()): Promise<Verdict> {
  const reading = read(capture)
  const oracles: Verdict['oracles'][number][] = []
  for (const { id, about, check: look } of oraclesOf(openssl)) {
    const { examined, violations, excused = {} } = await look(reading)
    const violated: Record<string, number> = {}
    const examples: string[] = []
    for (const { clause, what } of violations) {
      violated[clause] = (violated[clause] ?? 0) + 1
      if (violated[clause] <= EXAMPLES_MAX) examples.push(`${clause}: ${what}`)
    }
    oracles.push({ id, about, examined, violated, excused, examples })
  }
  return { ok: oracles.every(({ violated }) => Object.keys(violated).length === 0), oracles }
}

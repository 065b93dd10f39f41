import type { Random } from '../../src/simulator/random.ts'
import type { Fault } from './fault.ts'
import { LINK_FAULTS } from './links.ts'
import { MACHINE_FAULTS } from './machine.ts'
import { OPERATOR_FAULTS } from './operators.ts'
import { PROCESS_FAULTS } from './processes.ts'
import { STORE_FAULTS } from './stores.ts'

export const FAULTS: readonly Fault[] = [
  ...[...PROCESS_FAULTS, ...STORE_FAULTS, ...LINK_FAULTS, ...OPERATOR_FAULTS, ...MACHINE_FAULTS],
]

/** Half of the time two at once, where they can be. */
const TWO_AT_ONCE = 0.5

/** What comes next, one or two at a time: every kind once, in an order of the seed, before any comes again. */
export function drawFaults(random: Random, possible: readonly Fault[]): () => Fault[] {
  const bag: Fault[] = []
  const refill = () => {
    const left = [...possible]
    while (left.length > 0) bag.push(...left.splice(random.below(left.length), 1))
  }
  return () => {
    if (bag.length === 0) refill()
    const first = bag.shift()
    if (first === undefined) throw new Error('there are no faults to draw')
    if (first.isAlone === true || !random.chance(TWO_AT_ONCE)) return [first]
    const fits = bag.findIndex((other) => other.isAlone !== true && other.group !== first.group)
    return fits < 0 ? [first] : [first, ...bag.splice(fits, 1)]
  }
}

import { planCommands, type Command } from '../postgres/plan-commands.ts'
import { createRandom } from '../world/random.ts'

/** One of those that are connected at the same time, and what it does, one after another. */
export interface ActorPlan {
  readonly name: string
  /** It owns this lane; undefined: it comes from outside. */
  readonly lane: number | undefined
  readonly commands: readonly Command[]
}

/** One actor's next statements are sent; or its connection is ended, whatever it is doing. */
export interface Turn {
  readonly actor: number
  readonly kind: 'go' | 'kill'
  readonly statements: number
  /** Until it is well inside a transaction, so that it stands still there while another comes along. */
  readonly isSeeking: boolean
  /** Of transactions that begin in it: they give a lock up at once. */
  readonly isImpatient: boolean
}

export interface SessionsPlan {
  readonly actors: readonly ActorPlan[]
  readonly turns: readonly Turn[]
}

const TURNS = 60
const COMMANDS = 16
const ORDERS = 2
const STATEMENTS = 3

/** Whose lane each of them owns. */
type Owned = readonly (number | undefined)[]
const TWO: readonly Owned[] = [
  [0, undefined],
  [0, 0],
  [undefined, undefined],
]
const THREE: readonly Owned[] = [
  [0, 1, undefined],
  [0, 0, undefined],
  [0, undefined, undefined],
]

/** Owners of one lane or of two, and one or two that come from outside. */
export function planSessions(seed: number, count: number): SessionsPlan {
  const random = createRandom(seed, 20 + count)
  const lanes = random.pick(count === 2 ? TWO : THREE)
  const actors = lanes.map((lane, index): ActorPlan => ({
    ...{ name: `${'abc'[index]}`, lane },
    commands: planCommands(seed * 10 + index, {
      ...{ count: COMMANDS, numbers: ORDERS },
      of: lane === undefined ? 'api' : { lane },
    }),
  }))
  const turns = Array.from({ length: TURNS }, (): Turn => ({
    ...{ actor: random.below(count), kind: random.chance(0.08) ? 'kill' : 'go' },
    ...{ statements: random.between(1, STATEMENTS), isSeeking: random.chance(0.8), isImpatient: random.chance(0.2) },
  }))
  return { actors, turns }
}

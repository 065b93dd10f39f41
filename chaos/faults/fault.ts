import type { Random } from '../../src/simulator/random.ts'
import type { World } from '../system/world.ts'

/** A kind of fault: how it is made, how its effect is seen, how it ends. */
export interface Fault {
  readonly kind: string
  /** Two of one group are never there at once. */
  readonly group: string
  /** Nothing else beside it. */
  readonly isAlone?: boolean
  /** Why it cannot be made here; undefined: it can. */
  readonly missing?: (world: World) => string | undefined
  readonly inject: (world: World, random: Random) => Promise<Injected>
}

export interface Injected {
  readonly target: string
  /** How long it lasts, unless it ends by itself. */
  readonly holdMs: number
  /** Addresses whose answers it delays or takes away. */
  readonly hinders?: readonly string[]
  /** Asked again and again while it lasts: what proves that it had an effect; undefined: nothing yet. */
  readonly observe: () => Promise<string | undefined>
  readonly heal: () => Promise<void>
  readonly poison?: readonly { readonly partition: number; readonly offset: number }[]
  readonly actions?: readonly string[]
}

/** One of a list, which has at least one. */
export function pick<T>(random: Random, some: readonly T[]): T {
  const one = some[random.below(some.length)]
  if (one === undefined) throw new Error('nothing to pick from')
  return one
}

export const between = (random: Random, fromMs: number, toMs: number) => fromMs + random.below(toMs - fromMs)

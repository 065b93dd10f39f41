import { randomInt } from 'node:crypto'

/** Numbers that look random and come again for the same seed. */
export interface Random {
  readonly seed: number
  /** 0 ≤ x < 1 */
  readonly next: () => number
  /** 0 ≤ x < limit, whole */
  readonly below: (limit: number) => number
  readonly chance: (share: number) => boolean
  readonly pick: <T>(items: readonly T[]) => T
  readonly shuffle: <T>(items: readonly T[]) => T[]
}

/** The run's seed: `SEED` if it is set, else a new one; printed, so that a failure can be played again. */
export function printedRandom(what: string): Random {
  const given = Number(process.env['SEED'])
  const seed = Number.isSafeInteger(given) && given > 0 ? given : randomInt(1, 2 ** 31)
  console.log(`${what}: SEED=${seed}`)
  return randomOf(seed)
}

/** Mulberry32: short, quick, and good enough to choose test cases with. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let x = Math.imul(state ^ (state >>> 15), state | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    seed,
    next,
    below,
    chance: (share) => next() < share,
    pick: <T>(items: readonly T[]) => {
      if (items.length === 0) throw new Error('nothing to pick from')
      return items[below(items.length)] as T
    },
    shuffle: <T>(items: readonly T[]) => {
      const mixed = [...items]
      for (let i = mixed.length - 1; i > 0; i--) {
        const j = below(i + 1)
        const kept = mixed[i] as T
        mixed[i] = mixed[j] as T
        mixed[j] = kept
      }
      return mixed
    },
  }
}

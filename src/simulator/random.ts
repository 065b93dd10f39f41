/** Numbers that look random and come again for the same seed, so that a run can be played again. */
export interface Random {
  /** 0 ≤ x < limit, whole */
  readonly below: (limit: number) => number
  readonly chance: (share: number) => boolean
  readonly pick: <T>(items: readonly [T, ...T[]]) => T
  readonly hex: (digits: number) => string
}

/** Mulberry32: short, quick, and good enough to draw a plan with. No keys are drawn from it. */
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
    below,
    chance: (share) => next() < share,
    pick: (items) => items[below(items.length)] ?? items[0],
    hex: (digits) => Array.from({ length: digits }, () => below(16).toString(16)).join(''),
  }
}

/** Numbers that follow from a seed alone. */
export interface Random {
  /** In [0, 1). */
  readonly next: () => number
  /** Whole, from 0 to below `limit`. */
  readonly below: (limit: number) => number
  readonly between: (from: number, to: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <T>(list: readonly T[]) => T
  readonly shuffle: <T>(list: readonly T[]) => T[]
}

/** sfc32 (Chris Doty-Humphrey's Small Fast Counter), seeded by its own first rounds. */
export function createRandom(seed: number, stream = 0): Random {
  let a = seed | 0
  let b = Math.imul(stream + 1, 0x9e3779b9) | 0
  let c = (seed / 4_294_967_296) | 0
  let counter = 1
  const word = () => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return sum >>> 0
  }
  for (let round = 0; round < 12; round++) word()
  const next = () => word() / 4_294_967_296
  const below = (limit: number) => Math.floor(next() * limit)
  const pick = <T>(list: readonly T[]): T => {
    if (list.length === 0) throw new Error('nothing to pick from')
    return list[below(list.length)] as T
  }
  return {
    next,
    below,
    between: (from, to) => from + below(to - from + 1),
    chance: (probability) => next() < probability,
    pick,
    shuffle: (list) => {
      const left = [...list]
      for (let index = left.length - 1; index > 0; index--) {
        const other = below(index + 1)
        ;[left[index], left[other]] = [left[other], left[index]] as [never, never]
      }
      return left
    },
  }
}

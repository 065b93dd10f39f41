export function subsets<T>(items: readonly T[], size: number): T[][] {
  if (size === 0) return [[]]
  return items.flatMap((first, index) => subsets(items.slice(index + 1), size - 1).map((rest) => [first, ...rest]))
}

export function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((first, index) => permutations(items.toSpliced(index, 1)).map((rest) => [first, ...rest]))
}

/**
 * Several sequences as one, each in its own order, whichever is the earliest next. An order's callbacks that lie in two
 * partitions come as they were published.
 */
export async function* mergeByTime<T extends { readonly timestampMs: number }>(
  sources: readonly AsyncIterable<T>[],
): AsyncGenerator<T> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]())
  const heads = await Promise.all(iterators.map((iterator) => iterator.next()))
  for (;;) {
    let earliest: { readonly index: number; readonly value: T } | undefined
    for (const [index, head] of heads.entries())
      if (head.done !== true && (earliest === undefined || head.value.timestampMs < earliest.value.timestampMs))
        earliest = { index, value: head.value }
    if (earliest === undefined) return
    yield earliest.value
    const next = await iterators[earliest.index]?.next()
    if (next !== undefined) heads[earliest.index] = next
  }
}

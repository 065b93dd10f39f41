/** Something that is going to happen. */
export interface Happening {
  readonly atMs: number
  /** Of happenings at the same moment: the one that was planned first. */
  readonly order: number
  readonly host: Host | undefined
  readonly what: string
  /** Undefined: called off. */
  run: (() => void) | undefined
}

/** Where code runs. What happens to it waits while it is frozen, and is dropped when it is gone. */
export interface Host {
  readonly name: string
  state: 'up' | 'frozen' | 'gone'
  readonly waiting: Happening[]
}

/** A binary heap: the earliest first. */
export interface Queue {
  readonly push: (happening: Happening) => void
  readonly pop: () => Happening | undefined
  readonly size: () => number
}

const isBefore = (a: Happening, b: Happening) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)

export function createQueue(): Queue {
  const heap: Happening[] = []
  const sink = (last: Happening) => {
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      const right = heap[child + 1]
      if (right !== undefined && isBefore(right, heap[child] as Happening)) child++
      const smaller = heap[child] as Happening
      if (!isBefore(smaller, last)) break
      heap[index] = smaller
      index = child
    }
    heap[index] = last
  }
  return {
    push: (happening) => {
      let index = heap.push(happening) - 1
      while (index > 0) {
        const parent = (index - 1) >> 1
        const above = heap[parent] as Happening
        if (!isBefore(happening, above)) break
        heap[index] = above
        index = parent
      }
      heap[index] = happening
    },
    pop: () => {
      const [first] = heap
      const last = heap.pop()
      if (first === undefined || last === undefined || first === last) return first
      sink(last)
      return first
    },
    size: () => heap.length,
  }
}

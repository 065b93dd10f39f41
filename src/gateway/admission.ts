/** How much of the free room one route may hold: alone it gets four fifths of all, and leaves the rest to others. */
const SHARE_OF_FREE = 4

export interface Admission {
  readonly isFull: (route: object) => boolean
  readonly enter: (route: object) => void
  readonly leave: (route: object) => void
  readonly inFlight: () => number
}

/**
 * Limits what is in flight, so that no route takes all of it: each may hold four times what is still free (a dynamic
 * threshold, Choudhury and Hahne 1998). A flood at one route leaves a fifth of `max` free, floods at eight routes a
 * thirty-third, and each other route may take that.
 */
export function createAdmission(max: number): Admission {
  const ofRoute = new Map<object, number>()
  let total = 0
  return {
    isFull: (route) => (ofRoute.get(route) ?? 0) >= SHARE_OF_FREE * (max - total),
    enter: (route) => {
      total += 1
      ofRoute.set(route, (ofRoute.get(route) ?? 0) + 1)
    },
    leave: (route) => {
      total -= 1
      const left = (ofRoute.get(route) ?? 0) - 1
      // Routes come and go with the merchants' files.
      if (left > 0) ofRoute.set(route, left)
      else ofRoute.delete(route)
    },
    inFlight: () => total,
  }
}

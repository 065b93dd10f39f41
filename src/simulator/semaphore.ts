/** Lets in at most so many at once, in the order in which they came. */
export function semaphore(size: number) {
  let free = size
  const waiting: { size: number; enter: () => void }[] = []
  const admit = () => {
    for (let next = waiting[0]; next !== undefined && next.size <= free; next = waiting[0]) {
      free -= next.size
      waiting.shift()
      next.enter()
    }
  }
  return {
    acquire: (wanted: number) =>
      new Promise<void>((enter) => {
        waiting.push({ size: wanted, enter })
        admit()
      }),
    release: (given: number) => {
      free += given
      admit()
    },
  }
}

/**
 * Runs `work`, of which the first part is a wait that may be left: when it has not begun in time, the caller goes on
 * without it. What it waited for goes on by itself.
 * @param work calls `begin` after its wait; on false its caller has left, and it must touch nothing of the caller's
 * @param leave called when the caller leaves
 * @returns undefined: left
 */
export async function takeTurn<T>(
  msMax: number,
  work: (begin: () => boolean) => Promise<T>,
  leave: () => void,
): Promise<T | undefined> {
  let state: 'waiting' | 'begun' | 'left' = 'waiting'
  const begin = () => {
    if (state === 'waiting') state = 'begun'
    return state === 'begun'
  }
  let timer: NodeJS.Timeout | undefined
  const left = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      if (state !== 'waiting') return
      state = 'left'
      leave()
      resolve(undefined)
    }, msMax)
  })
  try {
    return await Promise.race([work(begin), left])
  } finally {
    clearTimeout(timer)
  }
}

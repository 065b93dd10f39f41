/** The work may still be going on; whatever it ends with is ignored. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed'
}

/** Settles like `work`, or rejects with DeadlinePassed after `ms`, whichever is first. */
export function withDeadline<T>(work: Promise<T>, ms: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlinePassed(`${what} took longer than ${ms} ms`)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Ends the process: what is thrown where nobody catches it is logged by `runProcess`, which exits. */
export function throwUncaught(error: Error): void {
  setImmediate(() => {
    throw error
  })
}

import { CliFailure, EXIT } from './failure.ts'

/**
 * Node tells of an output that cannot be written by an event; without a listener that ends in a stack and exit code 1.
 *
 * Whoever closes a pipe has read enough, as `head` does: what the verb did and found stands, and so does its exit
 * code. 141, as of a program that SIGPIPE ended, would make `set -o pipefail` take that for a failure.
 * @returns waits until all is written; @throws CliFailure if it cannot be (a full disk)
 */
export function watchOutput(): () => Promise<void> {
  let failed: NodeJS.ErrnoException | undefined
  process.stdout.on('error', (error: NodeJS.ErrnoException) => void (failed ??= error))
  process.stderr.on('error', () => undefined) // Nowhere is left to tell it to.
  return async () => {
    await new Promise<void>((resolve) => process.stdout.write('', () => setImmediate(resolve)))
    if (failed === undefined || failed.code === 'EPIPE') return
    throw new CliFailure(
      EXIT.undecided,
      `The output could not be written (${failed.message}); what was done is done.`,
      'Make room, or send the output elsewhere.',
      failed,
    )
  }
}

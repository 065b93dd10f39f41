/** Exit codes, the same for every verb. */
export const EXIT = { ok: 0, findings: 1, usage: 2, undecided: 3 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** An expected end of a verb: one line that says what is wrong, one that says what to do. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure'
  readonly exitCode: ExitCode
  readonly remedy: string | undefined
  constructor(exitCode: ExitCode, message: string, remedy?: string, cause?: unknown) {
    super(message, { cause })
    this.exitCode = exitCode
    this.remedy = remedy
  }
}

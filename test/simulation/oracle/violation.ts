/** Something that must never happen has happened. */
export class Violation extends Error {
  override readonly name = 'Violation'
  readonly oracle: string
  constructor(oracle: string, detail: string) {
    super(`${oracle}: ${detail}`)
    this.oracle = oracle
  }
}

export function must(holds: boolean, oracle: string, detail: () => string): void {
  if (!holds) throw new Violation(oracle, detail())
}

import type { Mutant } from './mutants/mutant.ts'
import { runTask } from './run-seeds.ts'

export const HISTORIES_MAX = 2_000

export type Caught =
  | {
      readonly kind: 'caught'
      readonly after: number
      readonly seed: number
      readonly oracle: string
      readonly detail: string
    }
  | { readonly kind: 'survived'; readonly after: number }

/** Runs histories of a mutant until one of them shows that it is wrong. */
export async function catchMutant({ name }: Mutant, first: number): Promise<Caught> {
  const { histories: after, failures } = await runTask({
    ...{ first, step: 1, count: HISTORIES_MAX, least: HISTORIES_MAX, msMax: 0, mutant: name, stopAtFailure: true },
  })
  const [failed] = failures
  if (failed?.failure === undefined) return { kind: 'survived', after }
  return { kind: 'caught', after, seed: failed.seed, ...failed.failure }
}

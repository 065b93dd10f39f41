import type { Callback } from './forms/form.ts'

/** A way to handle callbacks, running: two workers or more that can be killed. */
export interface System {
  readonly name: string
  /** Resolves when nothing more will be shipped for what was answered so far: one too many may come last of all. */
  readonly settled: () => Promise<void>
  readonly createOrders: (outTradeNos: readonly string[]) => Promise<void>
  /** True: answered with success. False: not, or the worker died; the provider sends again. */
  readonly deliver: (callback: Callback, worker: number) => Promise<boolean>
  /** SIGKILL to one worker at its next moment of that kind; resolves when it runs again. */
  readonly killOne: (worker: number, moment: Moment) => Promise<void>
  /** How often each order was shipped so far, as a read_committed reader of the warehouse's topic counts. */
  readonly shipped: () => Promise<ReadonlyMap<string, number>>
  readonly stop: () => Promise<void>
}
export const WORKERS = 2

/** Any, or about to ship what it has decided to ship, or just when that is acknowledged. */
export const MOMENTS = ['any', 'before_effect', 'after_effect'] as const
export type Moment = (typeof MOMENTS)[number]
/** A moment that does not come within this is now. */
export const MOMENT_MS_MAX = 3_000

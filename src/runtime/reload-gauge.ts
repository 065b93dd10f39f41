import type { Gauge } from 'prom-client'

/** Why files that are there are not in use: they hold a mistake, or never rest. */
interface NotInUse {
  readonly refused: boolean
  readonly unsettled: boolean
}

/** Keeps a gauge at 1 while either holds. */
export function noteNotInUse(gauge: Gauge): (change: Partial<NotInUse>) => void {
  let state: NotInUse = { refused: false, unsettled: false }
  return (change) => {
    state = { ...state, ...change }
    gauge.set(state.refused || state.unsettled ? 1 : 0)
  }
}

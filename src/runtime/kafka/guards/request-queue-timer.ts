import type { Internals } from './internals.ts'

interface RequestQueue {
  throttleCheckTimeoutId: NodeJS.Timeout | null
  readonly throttledUntil: number
  readonly pending: readonly unknown[]
  checkPendingRequests: () => void
}

const CHECK_PENDING_MS = 10

/**
 * Stock kafkajs re-arms this timer with a negative delay after every response, a 1 ms loop per connection for ever:
 * 8.7 % of a core for 100 idle connections, and a TimeoutNegativeWarning on Node 24 (kafkajs #1751, #1704). Here it
 * is armed only while a request waits.
 */
export function guardRequestQueueTimer(internals: Internals): void {
  const { prototype } = internals.load('src/network/requestQueue/index.js') as { prototype: Record<string, unknown> }
  prototype['scheduleCheckPendingRequests'] = function (this: RequestQueue) {
    if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return
    const throttledMs = this.throttledUntil - Date.now()
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null
        this.checkPendingRequests()
      },
      throttledMs > 0 ? throttledMs : CHECK_PENDING_MS,
    )
  }
}

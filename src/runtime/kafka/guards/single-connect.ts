import type { Internals } from './internals.ts'

/**
 * Stock kafkajs opens one socket per caller when several requests meet a closed connection; all but the last are never
 * used, and writes pile up as `connect` listeners (MaxListenersExceededWarning while a broker is down). Here callers
 * share the attempt.
 */
export function guardSingleConnect(internals: Internals): void {
  const { prototype } = internals.load('src/network/connection.js') as {
    prototype: { connect: (this: object) => Promise<boolean> }
  }
  const connect = prototype.connect
  const attempts = new WeakMap<object, Promise<boolean>>()
  prototype.connect = function () {
    const pending = attempts.get(this)
    if (pending !== undefined) return pending
    const attempt = connect.call(this).finally(() => attempts.delete(this))
    attempts.set(this, attempt)
    return attempt
  }
}

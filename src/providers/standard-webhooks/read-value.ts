import { AMOUNT_MINOR_MAX } from '../../orders/limits.ts'
import { valueAt, type Pointer } from '../json-pointer.ts'
import { isTimeMs } from '../limits.ts'

/** A JSON number in the digits in which it was written: as a double, 10.00000000000000000001 is 10. */
export class WrittenNumber {
  readonly #digits: string
  constructor(digits: string) {
    this.#digits = digits
  }
  toString(): string {
    return this.#digits
  }
}

export type ReadValue = (pointer: Pointer) => unknown

/** Reads values of a JSON text, numbers as they were written; `json` is the same text, parsed. */
export function valueReader(text: string, json: unknown): ReadValue {
  let exact: unknown
  return (pointer) => {
    const value = valueAt(json, pointer)
    if (typeof value !== 'number') return value
    // Only then: this way of parsing takes three times as long.
    exact ??= JSON.parse(text, withWrittenNumbers)
    return valueAt(exact, pointer)
  }
}

/** The third argument is missing in the compiler's library; Node has it since 21. */
function withWrittenNumbers(_name: string, value: unknown, ...[context]: readonly unknown[]): unknown {
  return typeof value === 'number' ? new WrittenNumber((context as { source: string }).source) : value
}

const WHOLE = /^(?:0|[1-9]\d*)$/

/** A number of an order or a payment: a text, or a whole number in its digits, however many. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return value instanceof WrittenNumber && WHOLE.test(value.toString()) ? value.toString() : undefined
}

const DECIMAL = /^(0|[1-9]\d{0,17})(?:\.(\d{1,4}))?$/

/**
 * Minor units of an amount with at most so many decimals, a text or a number, in integers only. No sign, exponent or
 * separator; 1.005 with two decimals is refused and not rounded.
 */
export function minorOf(value: unknown, decimals: number): number | undefined {
  if (typeof value !== 'string' && !(value instanceof WrittenNumber)) return undefined
  const [, whole, fraction = ''] = DECIMAL.exec(value.toString()) ?? []
  if (whole === undefined || fraction.length > decimals) return undefined
  const minor = BigInt(whole + fraction.padEnd(decimals, '0'))
  return minor <= AMOUNT_MINOR_MAX ? Number(minor) : undefined
}

const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
const UNIX = /^\d{1,13}$/

/** Milliseconds since 1970 of a time in one of the forms that a mapping may name; undefined: none that can be kept. */
export function timeMsOf(value: unknown, form: 'rfc3339' | 'unixSec' | 'unixMs'): number | undefined {
  const text = form === 'rfc3339' ? value : textOf(value)
  if (typeof text !== 'string') return undefined
  if (form === 'rfc3339') {
    const [, day] = RFC_3339.exec(text) ?? []
    return day !== undefined && isDay(day) ? kept(Date.parse(text.toUpperCase())) : undefined
  }
  return UNIX.test(text) ? kept(Number(text) * (form === 'unixSec' ? 1_000 : 1)) : undefined
}

/** `Date.parse` takes 30 February for 2 March. */
const isDay = (day: string) => {
  const ms = Date.parse(`${day}T00:00:00Z`)
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(day)
}

const kept = (ms: number) => (isTimeMs(ms) ? ms : undefined)

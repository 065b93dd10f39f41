import { userInfo } from 'node:os'
import { InvalidArgumentError } from 'commander'
import { z } from 'zod'
import { ORDER_FIELD_BYTES_MAX } from '../orders/limits.ts'

/** Parsers of option values; commander prints their message with the option's name and exits 2. */
export const integer = (min: number, max: number) => (text: string) => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`)
  return value
}
export const matching = (pattern: RegExp, what: string) => (text: string) => {
  if (!pattern.test(text)) throw new InvalidArgumentError(`It must be ${what}.`)
  return text
}
export const merchantName = matching(/^[a-z0-9][a-z0-9_-]{0,63}$/, '1 to 64 of a-z, 0-9, _ and -')
/** Wider than what the api creates: an order that is known only from callbacks can be looked at too. */
export const orderNumber = (text: string) => {
  if (text === '' || Buffer.byteLength(text) > ORDER_FIELD_BYTES_MAX || text.includes('\u0000'))
    throw new InvalidArgumentError(`It must be 1 to ${ORDER_FIELD_BYTES_MAX} bytes.`)
  return text
}

const UNITS_SEC = { s: 1, m: 60, h: 3_600, d: 86_400 } as const
/** `90s`, `15m`, `12h`, `30d` → seconds. */
export const durationSec = (text: string) => {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count === undefined || Number(count) === 0)
    throw new InvalidArgumentError('It must be a number and s, m, h or d, such as 30d.')
  return Number(count) * UNITS_SEC[unit as keyof typeof UNITS_SEC]
}

export const time = (text: string) => {
  if (!z.iso.datetime({ offset: true }).safeParse(text).success)
    throw new InvalidArgumentError('It must be a time like 2026-11-11T12:30:00+08:00, with its offset or Z.')
  return new Date(text)
}
/** A time, or how long ago: `2h`. */
export const timeOrAgo = (text: string) =>
  /^\d+[smhd]$/.test(text) ? new Date(Date.now() - durationSec(text) * 1_000) : time(text)

/** What an operator writes down about an action; it is kept. Spaces say nothing, and the lanes take them for nothing. */
export const shortText = matching(
  /^(?=.*\S)[^\p{Cc}]{1,500}$/u,
  '1 to 500 characters without control characters, and not spaces alone',
)

/** Who acts, unless `--actor` says so. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown' // a container may run as a number without a name
  }
}

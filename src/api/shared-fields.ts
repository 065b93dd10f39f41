import { z } from 'zod'
import { REASON_CHARS_MAX } from '../store/resolve-command.ts'

/** What several routes take alike. */

/** An id of ours in an address or a query: a bigint that a double holds. */
export const ID = /^[1-9]\d{0,14}$/

/** What a person may say about what they do. */
export const remark = z
  .string('must say why')
  .max(REASON_CHARS_MAX, `must be at most ${REASON_CHARS_MAX} characters`)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must be well-formed text without control characters')

/** The same where it must be said. */
export const reason = remark.refine((text) => text.trim() !== '', 'must say why')

/** A whole number in a query, in decimal digits. */
export const whole = (min: number, max: number) =>
  z
    .string()
    .refine((text) => /^\d{1,10}$/.test(text) && Number(text) >= min && Number(text) <= max, `must be ${min} to ${max}`)
    .transform(Number)
    .meta({ type: 'integer', minimum: min, maximum: max })

/** A time in a query, as milliseconds since 1970. */
export const time = z.iso
  .datetime({ offset: true, error: 'must be a time like 2026-11-11T12:30:00+08:00, with its offset or Z' })
  .transform((text) => new Date(text).getTime())

/** Which page, of a listing that has an id to go on from. */
export const PAGE = {
  limit: whole(1, 500).default(100),
  cursor: z.string().regex(ID, 'must be the next of an earlier answer').transform(Number).optional(),
}

import { z } from 'zod'

/** What several answers have alike, for the OpenAPI document. Answers are not parsed with it: the tests do that. */

export const timeText = z.string().meta({ format: 'date-time' })
export const rowId = z.int().min(1)
/** The cursor of the following page; null: there is none. */
export const nextCursor = z.string().nullable()
export const laneNumber = z.int().min(0).max(32_767)
export const wholeNumber = z.int().min(0)

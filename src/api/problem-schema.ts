import { z } from 'zod'
import { REFUSALS, type problemOf, type RefusalKind } from './refusal.ts'

export const problemType = (kind: RefusalKind) => `urn:paidonce:problem:${kind}`

/** RFC 9457, with what this api adds: `field`, `reason`, `remedy`. */
export const PROBLEM = z
  .strictObject({
    type: z.enum((Object.keys(REFUSALS) as RefusalKind[]).map(problemType)),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    field: z.string().optional(),
    reason: z.string().optional(),
    remedy: z.string().optional(),
    instance: z.string().optional(),
  })
  .meta({ id: 'Problem' })
type View = Omit<ReturnType<typeof problemOf>, 'title' | 'status'>
PROBLEM satisfies z.ZodType<{ -readonly [Name in keyof View]: View[Name] | undefined }>

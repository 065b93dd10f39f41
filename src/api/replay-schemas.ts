import { z } from 'zod'
import { DEAD_LETTER_REASONS } from '../store/dead-letter.ts'
import { REPLAY_REFUSALS, type ReplayRefusal } from '../store/plan-replay.ts'
import type { ReplayPlanView } from '../store/replay-plan-view.ts'
import { REPLAY_STATES, type replayRecordView, type replayRunView } from '../store/replay-run-view.ts'
import { REPLAY_WORDS } from '../store/replay-runs.ts'
import { merchant } from './order-body.ts'
import { laneNumber, nextCursor, rowId, timeText, wholeNumber } from './schema-parts.ts'
import { reason, time } from './shared-fields.ts'

const text = z.string().nullable()

const FILTER = z
  .strictObject({
    all: z.literal(true, 'must be true, or left out').optional(),
    ids: z.array(rowId).min(1, 'must name some').max(1_000, 'must be at most 1000').optional(),
    reasons: z
      .array(z.enum(DEAD_LETTER_REASONS, `must be one of ${DEAD_LETTER_REASONS.join(', ')}`))
      .min(1, 'must name some')
      .optional(),
    lane: laneNumber.optional(),
    merchant: merchant.optional(),
    /** When they became dead letters: from, inclusive, until, exclusive. */
    since: time.optional(),
    until: time.optional(),
  })
  .refine((filter) => Object.keys(filter).length > 0, 'must say which are meant: ids, reasons, since … or all')
  .refine(({ ids, ...others }) => ids === undefined || Object.keys(others).length === 0, {
    path: ['ids'],
    error: 'do not go together with anything else that chooses',
  })
export const REPLAY_BODY = z.strictObject({
  filter: FILTER,
  /** Also those that failed too often. */
  quarantined: z.boolean('must be true or false').default(false),
  /** Only say what would be sent. */
  dry_run: z.boolean('must be true or false').default(false),
  reason,
})
export type ReplayBody = z.output<typeof REPLAY_BODY>

const RUN = z
  .strictObject({
    id: rowId,
    state: z.enum(REPLAY_STATES),
    actor: z.string(),
    reason: z.string(),
    merchant: text,
    filter: z.strictObject({
      topic: z.string(),
      ids: z.array(rowId).optional(),
      reasons: z.array(z.string()).optional(),
      statuses: z.array(z.string()).optional(),
      lane: laneNumber.optional(),
      merchant: z.string().optional(),
      since: timeText.optional(),
      until: timeText.optional(),
    }),
    created_at: timeText.nullable(),
    results: z.strictObject(
      Object.fromEntries(REPLAY_WORDS.map((word) => [word, wholeNumber])) as Record<
        (typeof REPLAY_WORDS)[number],
        typeof wholeNumber
      >,
    ),
    trouble: text,
    stopped_at: timeText.nullable(),
  })
  .meta({ id: 'ReplayRun' }) satisfies z.ZodType<ReturnType<typeof replayRunView>>

const PLAN = z
  .strictObject({
    to_replay: wholeNumber,
    by_reason: z.record(z.string(), z.int().min(1)),
    refused_count: wholeNumber,
    refused: z.array(z.strictObject({ id: rowId, why: z.enum(Object.keys(REPLAY_REFUSALS) as ReplayRefusal[]) })),
    not_there: wholeNumber,
    more: z.boolean(),
  })
  .meta({ id: 'ReplayPlan' }) satisfies z.ZodType<ReplayPlanView>

const RECORD = z.strictObject({
  id: rowId,
  dead_letter: rowId,
  lane: laneNumber,
  offset: wholeNumber.nullable(),
  result: z.enum(REPLAY_WORDS),
  detail: text,
}) satisfies z.ZodType<ReturnType<typeof replayRecordView>>

export const REPLAY_ASKED = z.strictObject({ run: RUN.nullable(), plan: PLAN }).meta({ id: 'ReplayAsked' })
export const REPLAY_RUN = RUN
export const REPLAY_RUNS = z.strictObject({ replays: z.array(RUN), next: nextCursor })
export const WHOLE_REPLAY = z.strictObject({
  run: RUN,
  plan: PLAN.nullable(),
  records: z.array(RECORD),
  next: nextCursor,
})

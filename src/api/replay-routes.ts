import { z } from 'zod'
import { replayRecordView, replayRunView, stateOf } from '../store/replay-run-view.ts'
import { REPLAY_WORDS, type listReplayRecords, type listReplayRuns, type ReplayRun } from '../store/replay-runs.ts'
import { fieldRefusal } from './order-body.ts'
import { NOT_FOUND } from './policy.ts'
import { REPLAY_RUN, REPLAY_RUNS, WHOLE_REPLAY } from './replay-schemas.ts'
import { refuse, type ApiRequest, type Route } from './route.ts'
import { ID, PAGE, reason } from './shared-fields.ts'

export interface ReplayDeps {
  /** @param merchant null: everybody's */
  readonly listRuns: (merchant: string | null, page: Parameters<typeof listReplayRuns>[2]) => Promise<ReplayRun[]>
  readonly findRun: (id: number, merchant?: string | null) => Promise<ReplayRun | undefined>
  readonly listRecords: (
    id: number,
    page: Parameters<typeof listReplayRecords>[2],
  ) => ReturnType<typeof listReplayRecords>
  /** Looks what the lanes have done with a run's records. */
  readonly settle: (id: number) => Promise<unknown>
  readonly resume: (request: { readonly id: number; readonly actor: string; readonly reason: string }) => Promise<void>
  readonly sender: { readonly wake: () => void } | undefined
}

const ListQuery = z.object(PAGE)
const ReadQuery = z.object({
  result: z.enum(REPLAY_WORDS, `must be one of ${REPLAY_WORDS.join(', ')}`).optional(),
  ...PAGE,
})
const ResumeBody = z.strictObject({ reason })

export const listReplaysRoute = ({ listRuns }: ReplayDeps): Route => ({
  method: 'get',
  path: '/v1/replays',
  action: 'read_dead_letter',
  query: ListQuery,
  doc: { id: 'listReplays', summary: 'Replays, the newest first.', answers: { 200: REPLAY_RUNS } },
  handle: async ({ query, principal }) => {
    const parsed = ListQuery.safeParse(query)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, query))
    const { limit, cursor } = parsed.data
    const { page, next } = cut(await listRuns(principal.merchant, { before: cursor, limit: limit + 1 }), limit)
    return { kind: 'answer', status: 200, body: { replays: page.map(replayRunView), next } }
  },
})

export const readReplayRoute = (deps: ReplayDeps): Route => ({
  method: 'get',
  path: '/v1/replays/:id',
  action: 'read_dead_letter',
  query: ReadQuery,
  doc: {
    id: 'readReplay',
    summary: 'One replay, and what became of each record, in pages.',
    answers: { 200: WHOLE_REPLAY },
    refusals: ['not_found'],
  },
  handle: async (request) => {
    const parsed = ReadQuery.safeParse(request.query)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, request.query))
    const before = await findOwn(deps, request)
    if (before === undefined) return refuse(NOT_FOUND)
    const { id } = before
    if (stateOf(before) !== 'done') await deps.settle(id)
    const { limit, cursor: after, result: word } = parsed.data
    const { page, next } = cut(await deps.listRecords(id, { word, after, limit: limit + 1 }), limit)
    const run = (await findOwn(deps, request)) ?? before
    const body = { run: replayRunView(run), plan: run.plan, records: page.map(replayRecordView), next }
    return { kind: 'answer', status: 200, body }
  },
})

/** One that was stopped goes on; any other goes on anyway, and gets the same answer. */
export const resumeReplayRoute = (deps: ReplayDeps): Route => ({
  method: 'post',
  path: '/v1/replays/:id/resume',
  action: 'replay_dead_letters',
  doc: {
    id: 'resumeReplay',
    summary: 'Lets a stopped replay go on. 200: nothing is left to send.',
    body: ResumeBody,
    answers: { 200: REPLAY_RUN, 202: REPLAY_RUN },
    refusals: ['not_found'],
  },
  handle: async (request) => {
    const before = await findOwn(deps, request)
    if (before === undefined) return refuse(NOT_FOUND)
    const parsed = ResumeBody.safeParse(request.body.value)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, request.body.value))
    await deps.resume({ id: before.id, actor: request.principal.name, reason: parsed.data.reason })
    deps.sender?.wake()
    const run = (await findOwn(deps, request)) ?? before
    return { kind: 'answer', status: run.counts.not_sent > 0 ? 202 : 200, body: replayRunView(run) }
  },
})

/** Undefined too where it is another merchant's. */
const findOwn = async ({ findRun }: ReplayDeps, { params, principal }: ApiRequest): Promise<ReplayRun | undefined> => {
  const id = params['id'] ?? ''
  return ID.test(id) ? await findRun(Number(id), principal.merchant) : undefined
}

/** @param found one more than a page has, where there are more */
function cut<Row extends { readonly id: number }>(found: readonly Row[], limit: number) {
  const page = found.slice(0, limit)
  return { page, next: found.length > limit ? String(page.at(-1)?.id) : null }
}

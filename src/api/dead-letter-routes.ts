import { z } from 'zod'
import type { DeadLetterFilter } from '../store/dead-letter-filter.ts'
import { deadLetterView } from '../store/dead-letter-view.ts'
import { DEAD_LETTER_REASONS, DEAD_LETTER_STATUSES } from '../store/dead-letter.ts'
import type { Discarded } from '../store/discard-dead-letters.ts'
import type { KeptDeadLetter, listDeadLetters, readDeadLetter } from '../store/read-dead-letters.ts'
import { isoOf } from '../store/order-view.ts'
import { DEAD_LETTER, DEAD_LETTERS, WHOLE_DEAD_LETTER } from './dead-letter-schema.ts'
import { fieldRefusal } from './order-body.ts'
import { maySee, NOT_FOUND, type Principal } from './policy.ts'
import { refuse, type ApiRequest, type Route } from './route.ts'
import { ID, PAGE, reason, time, whole } from './shared-fields.ts'

type Filter = Omit<DeadLetterFilter, 'topic'>
type Found = Awaited<ReturnType<typeof readDeadLetter>>

export interface DeadLetterDeps {
  readonly list: (filter: Filter, page: Parameters<typeof listDeadLetters>[2]) => ReturnType<typeof listDeadLetters>
  readonly read: (id: number) => Promise<Found>
  readonly discard: (id: number, by: { actor: string; reason: string }) => Promise<Discarded>
}

const Query = z.object({
  status: z.enum([...DEAD_LETTER_STATUSES, 'any'], `must be ${DEAD_LETTER_STATUSES.join(', ')} or any`).default('open'),
  reason: z.enum(DEAD_LETTER_REASONS, `must be one of ${DEAD_LETTER_REASONS.join(', ')}`).optional(),
  lane: whole(0, 32_767).optional(),
  merchant: z.string().min(1).max(64, 'must be at most 64 characters').optional(),
  since: time.optional(),
  until: time.optional(),
  ...PAGE,
})
const DiscardBody = z.strictObject({ reason })

/** Records that could not be processed. What could not be decoded is nobody's: a merchant's token does not see it. */
export const listDeadLettersRoute = ({ list }: DeadLetterDeps): Route => ({
  method: 'get',
  path: '/v1/dead-letters',
  action: 'read_dead_letter',
  query: Query,
  doc: {
    id: 'listDeadLetters',
    summary: 'Records that could not be processed, the newest first.',
    answers: { 200: DEAD_LETTERS },
  },
  handle: async ({ query, principal }) => {
    const parsed = Query.safeParse(query)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, query))
    const { status, reason, lane, merchant, since, until, limit, cursor } = parsed.data
    const whose = merchant ?? principal.merchant ?? undefined
    if (!maySee(principal, whose ?? null))
      return { kind: 'answer', status: 200, body: { dead_letters: [], next: null } }
    const filter: Filter = {
      ...{ lane, merchant: whose, sinceMs: since, untilMs: until },
      statuses: status === 'any' ? undefined : [status],
      reasons: reason === undefined ? undefined : [reason],
    }
    const { letters, next } = await list(filter, { before: cursor, limit })
    const body = { dead_letters: letters.map(deadLetterView), next: next === undefined ? null : String(next) }
    return { kind: 'answer', status: 200, body }
  },
})

export const readDeadLetterRoute = ({ read }: DeadLetterDeps): Route => ({
  method: 'get',
  path: '/v1/dead-letters/:id',
  action: 'read_dead_letter',
  doc: {
    id: 'readDeadLetter',
    summary: 'One dead letter with its bytes and its replays.',
    answers: { 200: WHOLE_DEAD_LETTER },
    refusals: ['not_found'],
  },
  handle: async (request) => {
    const found = await findOwn(read, request)
    if (found === undefined) return refuse(NOT_FOUND)
    const { letter, bytes, replays } = found
    const headers = Object.entries(bytes.headers).map(([name, value]) => [name, value.toString('utf8')] as const)
    const body = {
      ...deadLetterView(letter),
      key_base64: bytes.key?.toString('base64') ?? null,
      value_base64: bytes.value?.toString('base64') ?? null,
      headers: Object.fromEntries(headers),
      replays: replays.map(({ id, runId, count, sentAtMs, result, detail }) => ({
        ...{ id, run: runId, count, sent_at: isoOf(sentAtMs), result, detail },
      })),
    }
    return { kind: 'answer', status: 200, body }
  },
})

/** Sent again, it gets the same answer. */
export const discardDeadLetterRoute = ({ read, discard }: DeadLetterDeps): Route => ({
  method: 'post',
  path: '/v1/dead-letters/:id/discard',
  action: 'discard_dead_letter',
  doc: {
    id: 'discardDeadLetter',
    summary: 'Closes a dead letter for good.',
    body: DiscardBody,
    answers: { 200: DEAD_LETTER },
    refusals: ['not_found', 'command_refused'],
  },
  handle: async (request) => {
    const before = await findOwn(read, request)
    if (before === undefined) return refuse(NOT_FOUND)
    const parsed = DiscardBody.safeParse(request.body.value)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, request.body.value))
    const { id } = before.letter
    await discard(id, { actor: request.principal.name, reason: parsed.data.reason })
    const letter = (await read(id))?.letter ?? before.letter
    if (letter.status === 'discarded') return { kind: 'answer', status: 200, body: deadLetterView(letter) }
    return refuse({
      kind: 'command_refused',
      reason: letter.status,
      detail: `The dead letter is ${letter.status}.`,
      remedy: 'Only one that is open or quarantined can be discarded.',
    })
  },
})

/** Undefined too where it is another merchant's, or nobody's. */
async function findOwn(
  read: DeadLetterDeps['read'],
  { params, principal }: Pick<ApiRequest, 'params'> & { readonly principal: Principal },
): Promise<NonNullable<Found> | undefined> {
  const id = params['id'] ?? ''
  const found = ID.test(id) ? await read(Number(id)) : undefined
  return found !== undefined && isOf(principal, found.letter) ? found : undefined
}

const isOf = (principal: Principal, { merchant }: KeptDeadLetter) =>
  principal.merchant === null || principal.merchant === merchant

import { createHash } from 'node:crypto'
import type { DeadLetterFilter } from '../store/dead-letter-filter.ts'
import { planView } from '../store/replay-plan-view.ts'
import { replayRunView } from '../store/replay-run-view.ts'
import type { ReplayRun } from '../store/replay-runs.ts'
import { REPLAY_RUNS_MAX, type ReplayAsked, type ReplayRequest } from '../store/request-replay.ts'
import { KEY_REUSED, readIdempotencyKey } from './idempotency-key.ts'
import { LANES_UNKNOWN } from './lanes.ts'
import { fieldRefusal } from './order-body.ts'
import { foreignMerchant, maySee, type Principal } from './policy.ts'
import type { Refusal } from './refusal.ts'
import { REPLAY_ASKED, REPLAY_BODY, type ReplayBody } from './replay-schemas.ts'
import { refuse, type ApiAnswer, type Route } from './route.ts'

export interface RequestReplayDeps {
  readonly topic: string
  readonly requestReplay: (request: ReplayRequest) => Promise<ReplayAsked>
  readonly findRun: (id: number) => Promise<ReplayRun | undefined>
  readonly partitions: () => number | undefined
  /** Undefined: this api has no Kafka. */
  readonly sender: { readonly wake: () => void } | undefined
}

const NO_KAFKA: Refusal = {
  kind: 'not_ready',
  detail: 'This api sends no replays.',
  remedy: 'Set KAFKA_BROKERS, or use: paidonce dlq replay.',
}
const TOO_MANY: Refusal = {
  kind: 'too_many_replays',
  detail: `${REPLAY_RUNS_MAX} replays are not sent yet.`,
  remedy: 'Wait until some of them are.',
}

/** Writes down what is to be sent into the input topic again; the api's sender sends it, in this process or another. */
export const requestReplayRoute = (deps: RequestReplayDeps): Route => ({
  method: 'post',
  path: '/v1/replays',
  action: 'replay_dead_letters',
  doc: {
    id: 'requestReplay',
    summary: 'Replays dead letters. 202: it is being sent; 200: nothing is, as in a dry run, which needs no key.',
    body: REPLAY_BODY,
    key: 'optional',
    location: true,
    answers: { 200: REPLAY_ASKED, 202: REPLAY_ASKED },
    refusals: ['forbidden', 'too_many_replays', 'idempotency_key_reused', 'not_ready'],
  },
  handle: async ({ principal, body, header }) => {
    const parsed = REPLAY_BODY.safeParse(body.value)
    if (!parsed.success) return refuse(fieldRefusal(parsed.error, body.value))
    const { reason, dry_run: dryRun, quarantined } = parsed.data
    const { merchant } = parsed.data.filter
    if (merchant !== undefined && !maySee(principal, merchant)) return refuse(foreignMerchant)
    const key = dryRun ? undefined : readIdempotencyKey(header)
    if (key?.kind === 'refused') return refuse(key.refusal)
    if (!dryRun && deps.sender === undefined) return refuse(NO_KAFKA)
    const partitions = deps.partitions()
    if (partitions === undefined) return refuse(LANES_UNKNOWN)
    const asked = await deps.requestReplay({
      ...{ filter: filterOf(parsed.data, principal, deps.topic), quarantined, dryRun, reason, partitions },
      actor: principal.name,
      ...(key === undefined ? {} : { key: { idempotencyKey: key.key, bodyHash: hashOf(parsed.data, principal) } }),
    })
    if (asked.kind === 'key_reused') return refuse(KEY_REUSED)
    if (asked.kind === 'too_many') return refuse(TOO_MANY)
    deps.sender?.wake()
    return answerOf(asked, asked.runId === undefined ? undefined : await deps.findRun(asked.runId))
  },
})

/** A token with a merchant replays what could be decoded as that merchant's, whatever it names. */
function filterOf({ filter }: ReplayBody, principal: Principal, topic: string): DeadLetterFilter {
  const { ids, reasons, lane, since, until } = filter
  const merchant = filter.merchant ?? principal.merchant ?? undefined
  return { topic, ids, reasons, lane, merchant, sinceMs: since, untilMs: until }
}

const hashOf = (body: ReplayBody, { name }: Principal) =>
  createHash('sha256')
    .update(JSON.stringify(['replay', name, body]))
    .digest()

function answerOf(asked: ReplayAsked & { kind: 'requested' | 'same' }, run: ReplayRun | undefined): ApiAnswer {
  const plan = asked.kind === 'same' ? asked.plan : planView(asked)
  if (run === undefined) return { kind: 'answer', status: 200, body: { run: null, plan } }
  const headers = { location: `/v1/replays/${run.id}`, 'retry-after': '1' }
  return { kind: 'answer', status: 202, body: { run: replayRunView(run), plan }, headers }
}

import type { CallbackRequest, Provider, VerifiedMessage, Verdict } from '../providers/provider.ts'
import { keyOf, toCallback, type Origin } from '../providers/to-callback.ts'
import type { Clock } from '../runtime/clock.ts'
import { describeError, type Log } from '../runtime/log.ts'
import type { Source } from '../schemas/callback.ts'
import type { Codec } from '../schemas/codec.ts'
import { continueTrace } from '../schemas/headers.ts'
import { INPUT_TOPIC } from '../schemas/topics.ts'
import type { BatchPublisher, Published } from './batch-publisher.ts'
import { createFairTurns } from './fair-turns.ts'
import { reachNothing, type GatewayReach } from './crash-points.ts'
import { siftNothing, type Sift } from './filter/sift.ts'
import type { Refusal } from './rejection.ts'

/** Whom a request is addressed to. */
export interface Target {
  readonly provider: string
  readonly merchant: string
  readonly source: Source
  readonly bound: Pick<Provider, 'signedHeaders' | 'verify'>
}

export type Received =
  /** Every record of the callback, or of an earlier one that stated the same, is on every in-sync replica. */
  { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly refusal: Refusal }

/**
 * Verifies, publishes, and calls `answer` exactly once, never before it has returned. `deadlineAtMs` is by
 * `clock.elapsedMs`. Callbacks and no promises on this path: they were 1 µs and 1.5 KB of garbage a request.
 */
export type Receive = (
  target: Target,
  request: CallbackRequest,
  deadlineAtMs: number,
  answer: (received: Received) => void,
) => void

interface Job {
  readonly target: Target
  readonly request: CallbackRequest
  readonly deadlineAtMs: number
  readonly answer: (received: Received) => void
}

/** What Kafka's acknowledgement needs of the time to the deadline: a callback verified later would be for nothing. */
const PUBLISH_MS = 1_000
const ACCEPTED: Received = { kind: 'accepted' }
const refused = (refusal: Refusal): Received => ({ kind: 'refused', refusal })
const UNPUBLISHED = {
  overloaded: 'overloaded',
  too_large: 'too_large',
  expired: 'broker_unavailable',
  broker: 'broker_unavailable',
  closed: 'broker_unavailable',
} as const satisfies Record<(Published & { kind: 'failed' })['reason'], Refusal['kind']>

/**
 * The way of a callback: verify its raw bytes, publish what they prove, and only then call it accepted. Whose
 * turn does not come in time is refused as overload; a sender that has gone meanwhile changes nothing.
 */
export function createReceive(
  publisher: BatchPublisher,
  codec: Codec,
  clock: Clock,
  log: Log,
  reach: GatewayReach = reachNothing,
  sift: Sift = siftNothing,
): Receive {
  const verify = ({ target, request }: Job, now: Date): Verdict | undefined => {
    try {
      return target.bound.verify(request, now)
    } catch (error) {
      log.error({ provider: target.provider, error: describeError(error) }, 'verification threw')
      return undefined
    }
  }

  const publish = (job: Job, messages: readonly VerifiedMessage[], now: Date, onAcked: () => void) => {
    const { target, request, deadlineAtMs, answer } = job
    let records
    try {
      const origin = originOf(target, request, now)
      records = messages.map((message) => toRecord(origin, request.headers['traceparent'], message, codec))
    } catch (error) {
      log.error({ provider: target.provider, error: describeError(error) }, 'callback not encoded')
      answer(refused({ kind: 'internal' }))
      return
    }
    let missing = records.length
    const settle = (published: Published) => {
      if (missing === 0) return
      if (published.kind === 'failed') {
        missing = 0
        answer(refused({ kind: UNPUBLISHED[published.reason] }))
      } else if (--missing === 0) {
        reach('acked')
        onAcked()
        answer(ACCEPTED)
      }
    }
    reach('encoded')
    for (const record of records) publisher.publish(record, deadlineAtMs, settle)
  }

  const enqueue = createFairTurns<Job, Verdict | undefined>({
    clock,
    routeOf: ({ target }) => target.bound,
    beginByMs: ({ deadlineAtMs }) => deadlineAtMs - PUBLISH_MS,
    begin: verify,
    end: (job, verdict, now) => {
      if (verdict === undefined) job.answer(refused({ kind: 'internal' }))
      else if (verdict.kind === 'refused') job.answer(refused(verdict.rejection))
      else {
        const { messages } = verdict
        reach('verified')
        const publishNews = (onAcked: () => void) => publish(job, messages, now, onAcked)
        sift(job.target, messages, () => job.answer(ACCEPTED), publishNews)
      }
    },
    miss: ({ answer }) => answer(refused({ kind: 'overloaded' })),
  })

  return (target, request, deadlineAtMs, answer) => enqueue({ target, request, deadlineAtMs, answer })
}

function toRecord(origin: Origin, traceparent: string | undefined, message: VerifiedMessage, codec: Codec) {
  return {
    key: keyOf(message),
    value: codec.encode(INPUT_TOPIC, toCallback(message, origin)),
    headers: { traceparent: continueTrace(traceparent) },
  }
}

function originOf({ merchant, provider, source, bound }: Target, request: CallbackRequest, now: Date): Origin {
  const rawHeaders = signedHeaders(request.headers, bound.signedHeaders)
  return { merchant, provider, source, receivedAtMs: now.getTime(), rawBody: request.rawBody, rawHeaders }
}

function signedHeaders(headers: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of names) {
    const value = headers[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}

import type { IncomingMessage } from 'node:http'
import type { Request, Response } from 'express'
import type { Merchants } from '../providers/merchants.ts'
import { PROVIDERS, type ProviderEntry } from '../providers/registry.ts'
import type { Clock } from '../runtime/clock.ts'
import { createAdmission } from './admission.ts'
import { NOT_FOUND, prepare, send, type PreparedAnswer } from './answer.ts'
import { reachNothing, type GatewayReach } from './crash-points.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Pace } from './pace.ts'
import { createBodyReader, discardBody, PIECES_MAX, type Body } from './read-body.ts'
import type { Receive, Received, Target } from './receive-callback.ts'
import type { createRefusalLog } from './refusal-log.ts'
import { describeRefusal, type Refusal } from './rejection.ts'
import { headersOf } from './request-headers.ts'

/** Providers give up after 5 s; the rest is for the network. */
export const ANSWER_MS_MAX = 4_000
const BODY_BYTES_MAX = 65_536
/** Begun and not ended; of ten thousand slow senders the oldest give way. */
const UNFINISHED_MAX = 4_096
/** Room for 512 of the largest bodies; genuine ones have 1 to 4 KiB and come in one piece. */
const UNFINISHED_BYTES_MAX = 33_554_432
export const HEADER_LINES_MAX = 64

export interface RouteParts {
  readonly merchants: Merchants
  /** Undefined while Kafka or the registry has not been reached yet. */
  readonly receive: () => Receive | undefined
  readonly inFlightMax: number
  readonly mayKeepAlive: () => boolean
  /** For every answer but the one to an accepted callback. */
  readonly pace: Pace
  readonly clock: Clock
  readonly metrics: GatewayMetrics
  readonly logRefusal: ReturnType<typeof createRefusalLog>
  /** Tests crash here. */
  readonly reach?: GatewayReach
}

interface Route {
  readonly entry: ProviderEntry
  readonly success: PreparedAnswer
}

type Outcome = 'accepted' | 'refused' | 'failed'

/** `POST /callbacks/:provider/:merchant`: from the headers to the answer in the sender's own form. */
export function createCallbackRoute(parts: RouteParts) {
  const { merchants, clock, metrics, logRefusal, pace, reach = reachNothing } = parts
  const routes = new Map<string, Route>()
  for (const [name, entry] of PROVIDERS) routes.set(name, { entry, success: prepare(entry.answers.success) })
  const readBody = createBodyReader({
    bytesMax: BODY_BYTES_MAX,
    unfinishedMax: UNFINISHED_MAX,
    unfinishedBytesMax: UNFINISHED_BYTES_MAX,
  })
  const admission = createAdmission(parts.inFlightMax)
  metrics.watchInFlight(admission.inFlight)

  const write = (response: Response, answer: PreparedAnswer, provider: string, outcome: Outcome, startedMs: number) => {
    if (!send(response, answer, parts.mayKeepAlive())) metrics.unheard.inc({ provider, outcome })
    metrics.answerSeconds.observe({ provider, outcome }, (clock.elapsedMs() - startedMs) / 1_000)
  }

  const answer = (response: Response, route: Route, target: Target, startedMs: number, received: Received): void => {
    const { provider, merchant } = target
    if (received.kind === 'refused') {
      const outcome = countRefusal(received.refusal, provider, merchant)
      const prepared = prepare(route.entry.answers.refusal(received.refusal))
      pace(response, () => write(response, prepared, provider, outcome, startedMs))
    } else {
      metrics.callbacks.inc({ provider, outcome: 'accepted' })
      write(response, route.success, provider, 'accepted', startedMs)
      reach('answer_written')
    }
  }

  const countRefusal = (refusal: Refusal, provider: string, merchant?: string) => {
    const { reason, outcome } = describeRefusal(refusal)
    metrics.callbacks.inc({ provider, outcome })
    metrics.refusals.inc({ provider, reason })
    logRefusal(refusal, { provider, ...(merchant === undefined ? {} : { merchant }) })
    return outcome
  }

  const unknown = (kind: 'unknown_provider' | 'unknown_merchant', provider: string, response: Response): void => {
    countRefusal({ kind }, provider)
    pace(response, () => send(response, NOT_FOUND, parts.mayKeepAlive()))
  }

  return (request: Request<{ provider: string; merchant: string }>, response: Response): void => {
    const startedMs = clock.elapsedMs()
    const { provider, merchant } = request.params
    const route = routes.get(provider)
    const bound = route === undefined ? undefined : merchants.find(provider, merchant)
    if (route === undefined || bound === undefined) {
      unknown(
        route === undefined ? 'unknown_provider' : 'unknown_merchant',
        route === undefined ? 'unknown' : provider,
        response,
      )
      discardBody(request)
      return
    }
    const target: Target = { provider, merchant, source: route.entry.source, bound }
    const refuse = (refusal: Refusal) => answer(response, route, target, startedMs, { kind: 'refused', refusal })
    const receive = parts.receive()
    const early = earlyRefusal(request, receive, admission.isFull(bound))
    if (early !== undefined || receive === undefined) {
      refuse(early ?? { kind: 'broker_unavailable' })
      discardBody(request)
      return
    }
    reach('request_begun')
    readBody(request, (body) => {
      if (body.kind !== 'complete') {
        refuse(NO_BODY[body.kind])
        return
      }
      if (admission.isFull(bound)) {
        refuse({ kind: 'overloaded' })
        return
      }
      reach('body_read')
      admission.enter(bound)
      let finished = false
      const finish = (received: Received) => {
        if (finished) return
        finished = true
        clearTimeout(timer)
        admission.leave(bound)
        // After a stall of the process the ack may be met before the timer that is due.
        const isLate = received.kind === 'accepted' && clock.elapsedMs() >= deadlineAtMs
        answer(response, route, target, startedMs, isLate ? late : received)
      }
      const deadlineAtMs = startedMs + ANSWER_MS_MAX
      const late: Received = { kind: 'refused', refusal: { kind: 'broker_unavailable' } }
      const timer = setTimeout(() => finish(late), deadlineAtMs - clock.elapsedMs())
      const { headers, repeated } = headersOf(request)
      receive(target, { headers, repeatedHeaders: repeated, rawBody: body.bytes }, deadlineAtMs, finish)
    })
  }
}

const NO_BODY = {
  too_large: { kind: 'too_large' },
  too_many_pieces: { kind: 'malformed', field: 'body', detail: `more than ${PIECES_MAX} pieces` },
  crowded_out: { kind: 'overloaded' },
  incomplete: { kind: 'incomplete_body' },
} as const satisfies Record<Exclude<Body['kind'], 'complete'>, Refusal>

/** What can be refused before a byte of the body is read. */
function earlyRefusal(request: IncomingMessage, receive: Receive | undefined, full: boolean): Refusal | undefined {
  if (request.rawHeaders.length > HEADER_LINES_MAX * 2) return { kind: 'malformed', field: 'headers' }
  const encoding = request.headers['content-encoding']
  // Signatures are over the bytes as sent, and what is never unpacked cannot be a bomb.
  if (encoding !== undefined && encoding !== 'identity') return { kind: 'malformed', field: 'content-encoding' }
  if (receive === undefined) return { kind: 'broker_unavailable' }
  return full ? { kind: 'overloaded' } : undefined
}

import type { NextFunction, Request, Response } from 'express'
import type { ReturnSays, ReturnVerdict } from '../providers/provider.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { NOT_FOUND, prepare, send, type PreparedAnswer } from './answer.ts'
import { HEADER_LINES_MAX, type RouteParts } from './callback-route.ts'
import { discardBody } from './read-body.ts'
import { describeRefusal, type Refusal } from './rejection.ts'
import { createTurnBatch } from './turn-batch.ts'

/** Alipay's has about 700 characters. */
const QUERY_CHARS_MAX = 4_096
const PROVES_NOTHING =
  'The provider sent the buyer back with this. It is no proof of a payment: that comes by callback, or from a query of the order.'
/** One answer for every reason, so that it tells nothing. */
const REFUSED = prepare(json(400, { verified: false }))
const OVERLOADED = prepare(json(503, { verified: false }))
/** At most 4 RSA verifications each, 0.2 ms: callbacks are served in between. */
const PER_TURN_MAX = 16

/**
 * `GET /returns/:provider/:merchant`: where a provider sends the buyer's browser after the payment page. Verifies the
 * query and shows what it says. Nothing is published and no order changes: whoever saw such an address once can open
 * it again, before the payment, after a refund, or for another's order. So it is given nothing to publish with.
 */
export function createReturnRoute(parts: Omit<RouteParts, 'receive'>) {
  const { merchants, clock, metrics, logRefusal, mayKeepAlive, inFlightMax, pace } = parts
  let inFlight = 0
  const inTurn = createTurnBatch<(now: Date) => void>((jobs) => {
    const now = clock.now()
    for (const job of jobs) job(now)
  }, PER_TURN_MAX)

  return (request: Request<{ provider: string; merchant: string }>, response: Response, next: NextFunction): void => {
    const { provider, merchant } = request.params
    const finish = (answer: PreparedAnswer, outcome: 'verified' | 'refused' | 'failed' | 'unknown') => {
      metrics.returns.inc({ provider: PROVIDERS.has(provider) ? provider : 'unknown', outcome })
      pace(response, () => send(response, answer, mayKeepAlive()))
      discardBody(request)
    }
    const refuse = (refusal: Refusal) => {
      logRefusal(refusal, { provider, merchant, at: 'return' })
      const { outcome } = describeRefusal(refusal)
      finish(outcome === 'failed' ? OVERLOADED : REFUSED, outcome)
    }

    const verifyReturn = merchants.find(provider, merchant)?.verifyReturn
    const rawQuery = queryOf(request.originalUrl)
    if (verifyReturn === undefined) finish(NOT_FOUND, 'unknown')
    else if (request.rawHeaders.length > HEADER_LINES_MAX * 2) refuse({ kind: 'malformed', field: 'headers' })
    else if (rawQuery.length > QUERY_CHARS_MAX) refuse({ kind: 'too_large' })
    else if (inFlight >= inFlightMax) refuse({ kind: 'overloaded' })
    else {
      inFlight += 1
      inTurn((now) => {
        inFlight -= 1
        let verdict: ReturnVerdict
        try {
          verdict = verifyReturn(rawQuery, now)
        } catch (error) {
          next(error)
          return
        }
        if (verdict.kind === 'verified') finish(prepare(shown(verdict.says)), 'verified')
        else refuse(verdict.rejection)
      })
    }
  }
}

const shown = ({ outTradeNo, tradeNo, totalAmount }: ReturnSays) =>
  json(200, {
    verified: true,
    proves_payment: false,
    out_trade_no: outTradeNo,
    trade_no: tradeNo,
    total_amount: totalAmount,
    note: PROVES_NOTHING,
  })

function json(status: number, value: object) {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value)}\n` }
}

/** As it came: decoded once more, or put together again, it would not verify. */
function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}

import type { Request, Response } from 'express'
import type { ReturnSays } from '../providers/provider.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { NOT_FOUND, prepare, send, type PreparedAnswer } from './answer.ts'
import { HEADER_LINES_MAX, type RouteParts } from './callback-route.ts'
import { discardBody } from './read-body.ts'
import type { Refusal } from './rejection.ts'

/** Alipay's has about 700 characters. */
const QUERY_CHARS_MAX = 4_096
const PROVES_NOTHING =
  'The provider sent the buyer back with this. It is no proof of a payment: that comes by callback, or from a query of the order.'
/** One answer for every reason, so that it tells nothing. */
const REFUSED = prepare(json(400, { verified: false }))

/**
 * `GET /returns/:provider/:merchant`: where a provider sends the buyer's browser after the payment page. Verifies the
 * query and shows what it says. Nothing is published and no order changes: whoever saw such an address once can open
 * it again, before the payment, after a refund, or for another's order. So it is given nothing to publish with.
 */
export function createReturnRoute(parts: Omit<RouteParts, 'receive' | 'inFlightMax'>) {
  const { merchants, clock, metrics, logRefusal, mayKeepAlive } = parts

  return (request: Request<{ provider: string; merchant: string }>, response: Response): void => {
    const { provider, merchant } = request.params
    const finish = (answer: PreparedAnswer, outcome: 'verified' | 'refused' | 'unknown') => {
      metrics.returns.inc({ provider: PROVIDERS.has(provider) ? provider : 'unknown', outcome })
      send(response, answer, mayKeepAlive())
      discardBody(request)
    }
    const refuse = (refusal: Refusal) => {
      logRefusal(refusal, { provider, merchant, at: 'return' })
      finish(REFUSED, 'refused')
    }

    const verifyReturn = merchants.find(provider, merchant)?.verifyReturn
    const rawQuery = queryOf(request.originalUrl)
    if (verifyReturn === undefined) finish(NOT_FOUND, 'unknown')
    else if (request.rawHeaders.length > HEADER_LINES_MAX * 2) refuse({ kind: 'malformed', field: 'headers' })
    else if (rawQuery.length > QUERY_CHARS_MAX) refuse({ kind: 'too_large' })
    else {
      const verdict = verifyReturn(rawQuery, clock.now())
      if (verdict.kind === 'verified') finish(prepare(shown(verdict.says)), 'verified')
      else refuse(verdict.rejection)
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

import { eventId, factCause } from '../orders/identity.ts'
import { signReport as signWorkerReport } from '../providers/worker/sign.ts'
import { SHIPMENT_TOPIC } from '../schemas/topics.ts'
import { signingAt } from './key-ring.ts'
import type { SenderKeys } from './keys.ts'
import type { StatedFact } from './log.ts'
import type { PlannedReport } from './planned.ts'
import { callbackPath, type SignedRequest } from './delivered.ts'

/** What a worker has done with a paid order. */
export interface Reported {
  readonly type: PlannedReport['type']
  readonly outTradeNo: string
  /** Of the payment that asked for it. */
  readonly paymentRef: string
  readonly happenedAt: Date
}

const ID = { shipment_completed: 'ship', fulfillment_failed: 'fail', goods_returned: 'return' } as const

/** A worker's report, signed with every secret that signs at that moment; its id stays the same when it is sent again. */
export function signReport(reported: Reported, keys: SenderKeys, at: Date): SignedRequest {
  const { type, outTradeNo, paymentRef, happenedAt } = reported
  const cause = factCause({ eventType: 'payment_succeeded', providerRef: paymentRef })
  const says = type === 'fulfillment_failed' ? { reason: 'out of stock' } : { reference: `SF${outTradeNo}` }
  const report = {
    type,
    timestamp: happenedAt.toISOString(),
    data: {
      out_trade_no: outTradeNo,
      event_id: eventId(keys.merchant, outTradeNo, cause, 'ship', SHIPMENT_TOPIC),
      ...says,
    },
  }
  const signed = signWorkerReport(report, idOf(reported), signingAt(keys.worker.secrets, at), at)
  return { path: callbackPath('worker', keys.merchant), ...signed }
}

/** What the report proves. */
export const reportFact = (reported: Reported): StatedFact => ({
  ...{ outTradeNo: reported.outTradeNo, eventType: reported.type, providerRef: `worker:${idOf(reported)}` },
  ...{ paymentRef: null, amountMinor: 0, currency: '', amountKind: 'none', eventTimeMs: reported.happenedAt.getTime() },
})

const idOf = ({ type, outTradeNo }: Reported) => `${ID[type]}-${outTradeNo}`

import { eventId, factCause } from '../orders/identity.ts'
import { signReport as signWorkerReport } from '../providers/worker/sign.ts'
import { SHIPMENT_TOPIC } from '../schemas/topics.ts'
import type { SenderKeys } from './keys.ts'
import { callbackPath, type SignedRequest } from './sign-payment.ts'

/** A worker's report that the goods of a paid order are on their way; its id stays the same when it is sent again. */
export function signShipmentReport(outTradeNo: string, paymentRef: string, keys: SenderKeys, at: Date): SignedRequest {
  const cause = factCause({ eventType: 'payment_succeeded', providerRef: paymentRef })
  const report = {
    type: 'shipment_completed',
    timestamp: at.toISOString(),
    data: {
      out_trade_no: outTradeNo,
      event_id: eventId(keys.merchant, outTradeNo, cause, 'ship', SHIPMENT_TOPIC),
      reference: `SF${outTradeNo}`,
    },
  }
  return {
    path: callbackPath('worker', keys.merchant),
    ...signWorkerReport(report, `ship-${outTradeNo}`, keys.workerSecrets, at),
  }
}

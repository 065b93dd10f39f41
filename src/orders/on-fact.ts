import { acceptIfInTime, acceptPayment, payment } from './accept-payment.ts'
import { anomaly, APPLIED, arrivalCell, cell, held, noted, raise, type FactCell } from './cell.ts'
import { closeOrder } from './close-order.ts'
import type { FactKind, Status } from './model.ts'
import { refund, refundAccepted, refundOther, refundRefunded } from './refund-payment.ts'
import { returnGoods } from './return-goods.ts'

const doublePayment = arrivalCell('another transaction: anomaly `double_payment`', payment(raise('double_payment')))
const refundFailed = anomaly('refund_failed')
const disputed = anomaly('disputed')
const billDiffers = anomaly('bill_differs')
const goodsBack = cell('noted; emit restore, once per shipping (3)', returnGoods)

/**
 * What every status does with every kind of fact. Before a cell: the same fact again is a duplicate, and the same
 * identity with another amount, currency or amount kind is an anomaly `conflicting_fact`.
 */
export const ON_FACT = {
  awaited: {
    payment_succeeded: held,
    payment_failed: held,
    refund_succeeded: held,
    refund_failed: held,
    disputed: held,
    provider_closed: held,
    shipment_completed: held,
    fulfillment_failed: held,
    goods_returned: held,
    bill_differs: held,
  },
  pending: {
    payment_succeeded: cell('→ paid, emit ship, deduct, grant (1, 2)', payment(acceptPayment)),
    payment_failed: noted,
    refund_succeeded: cell('held until its payment is known', refund(refundOther)),
    refund_failed: refundFailed,
    disputed,
    provider_closed: arrivalCell('→ closed, emit unreserve', (work, { trigger }) => {
      closeOrder(work, 'provider', trigger)
      return APPLIED
    }),
    shipment_completed: anomaly('shipped_unpaid'),
    fulfillment_failed: noted,
    goods_returned: noted,
    bill_differs: billDiffers,
  },
  paid: {
    payment_succeeded: doublePayment,
    payment_failed: noted,
    refund_succeeded: arrivalCell(
      'partial: recorded, emit refund; full: → refunded, emit cancel, restore, revoke',
      refund(refundAccepted(['cancel', 'restore', 'revoke'])),
    ),
    refund_failed: refundFailed,
    disputed,
    provider_closed: arrivalCell('anomaly `closed_after_payment`', raise('closed_after_payment')),
    shipment_completed: cell('→ shipped', (work) => {
      work.order.status = 'shipped'
      return APPLIED
    }),
    fulfillment_failed: anomaly('fulfillment_failed'),
    goods_returned: noted,
    bill_differs: billDiffers,
  },
  shipped: {
    payment_succeeded: doublePayment,
    payment_failed: noted,
    refund_succeeded: arrivalCell(
      'partial: recorded, emit refund; full: → refunded, emit return, revoke (3)',
      refund(refundAccepted(['return', 'revoke'])),
    ),
    refund_failed: refundFailed,
    disputed,
    provider_closed: noted,
    shipment_completed: cell('another parcel: noted', noted.decide),
    fulfillment_failed: anomaly('fulfillment_failed'),
    goods_returned: goodsBack,
    bill_differs: billDiffers,
  },
  closed: {
    payment_succeeded: arrivalCell(
      'closed by expiry and paid before it, or in time by a policy (4): → paid, emit ship, deduct, grant (1, 2); ' +
        'else anomaly `paid_after_close`',
      payment(acceptIfInTime),
    ),
    payment_failed: noted,
    refund_succeeded: cell(
      "of an anomaly's payment: closes it; else anomaly `refund_of_unaccepted_payment`",
      refund(refundOther),
    ),
    refund_failed: refundFailed,
    disputed,
    provider_closed: noted,
    shipment_completed: anomaly('shipped_closed'),
    fulfillment_failed: noted,
    goods_returned: noted,
    bill_differs: billDiffers,
  },
  refunded: {
    payment_succeeded: arrivalCell(
      'another transaction: anomaly `paid_after_refund`, a person decides, nothing ships',
      payment(raise('paid_after_refund')),
    ),
    payment_failed: noted,
    refund_succeeded: cell('over-refund: anomaly `over_refund`; else noted', refund(refundRefunded)),
    refund_failed: refundFailed,
    disputed,
    provider_closed: noted,
    shipment_completed: anomaly('shipped_refunded'),
    fulfillment_failed: noted,
    goods_returned: goodsBack,
    bill_differs: billDiffers,
  },
} satisfies Record<Status, Record<FactKind, FactCell>>

/** States of a payment (`trade_state`), v2's and v3's alike. */

/** Paid, also where some or all of it was given back since: how much, only the refund query says. */
export const PAID: ReadonlySet<unknown> = new Set(['SUCCESS', 'REFUND'])
/** Nothing is certain yet (`PAYERROR`: this attempt failed), or what was certain is undone (`REVOKED`: ask for the refund). */
export const OPEN: ReadonlySet<unknown> = new Set(['NOTPAY', 'USERPAYING', 'ACCEPT', 'PAYERROR', 'REVOKED'])
/** Closed unpaid. */
export const CLOSED = 'CLOSED'

import type { Form } from './parse-form.ts'

/** All that decides what a message says. */
const READ: ReadonlySet<string> = new Set([
  ...['app_id', 'seller_id', 'seller_email', 'alipay_cert_sn', 'charset', 'notify_type', 'notify_id', 'notify_time'],
  ...['out_trade_no', 'trade_no', 'trade_status', 'total_amount', 'trans_currency', 'gmt_payment', 'gmt_close'],
  ...['gmt_refund', 'refund_fee', 'out_biz_no'],
])
const READ_FIELD = new RegExp(`&(?:${[...READ].join('|')})=`)
const ANY_FIELD = /&[A-Za-z0-9_.-]+=/

/**
 * The first field whose value holds what reads as another one (`x&refund_fee=`). What Alipay signs is `k=v&k=v` without
 * any escape, so that who has a notice could cut its text anew under the same signature: a refund's fee and time put
 * into the value before them leave a payment. Values that decide nothing may hold what decides nothing: `passback_params`
 * that nobody escaped come as `a=1&b=2`.
 */
export function ambiguousField({ latin1, spans }: Form): string | undefined {
  // Separators are not in the decoded text: an ampersand lies in a value. Most notices have none.
  if (!latin1.includes('&')) return undefined
  for (const [name, { start, end }] of spans)
    if ((READ.has(name) ? ANY_FIELD : READ_FIELD).test(latin1.slice(start, end))) return name
  return undefined
}

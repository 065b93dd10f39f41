import type { Form } from './parse-form.ts'

/** All that decides what a message says. */
const READ: ReadonlySet<string> = new Set([
  ...['app_id', 'seller_id', 'seller_email', 'alipay_cert_sn', 'charset', 'notify_type', 'notify_id', 'notify_time'],
  ...['out_trade_no', 'trade_no', 'trade_status', 'total_amount', 'trans_currency', 'gmt_payment', 'gmt_close'],
  ...['gmt_refund', 'refund_fee', 'out_biz_no'],
])
/**
 * What else Alipay puts into notices. Whoever chooses a value (`x&refund_fee=88.00&s=`) has the fields that were really
 * sent after it swallowed by the last one that he made up: any name of Alipay's in a value gives it away.
 */
const SENT = [
  ...['auth_app_id', 'version', 'sign_type', 'subject', 'body', 'passback_params', 'extra_common_param'],
  ...['buyer_id', 'buyer_open_id', 'buyer_logon_id', 'buyer_email', 'buyer_user_id', 'buyer_user_type', 'open_id'],
  ...['receipt_amount', 'invoice_amount', 'buyer_pay_amount', 'point_amount', 'send_back_fee', 'discount_amount'],
  ...['mdiscount_amount', 'charge_amount', 'charge_flags', 'hyb_amount', 'advance_amount', 'card_balance'],
  ...['gmt_create', 'send_pay_date', 'fund_bill_list', 'voucher_detail_list', 'discount_goods_detail'],
  ...['settle_currency', 'settle_amount', 'settle_trans_rate', 'trans_pay_rate', 'pay_currency', 'pay_amount'],
  ...['settlement_id', 'store_id', 'store_name', 'terminal_id', 'operator_id', 'notify_action_type'],
  ...['trade_settle_info', 'refund_detail_item_list', 'refund_preset_paytool_list', 'refund_charge_amount'],
  ...['hb_fq_pay_info', 'async_payment_mode', 'credit_pay_mode', 'credit_biz_order_id', 'auth_trade_pay_mode'],
  ...['enterprise_pay_info', 'industry_sepc_detail', 'agreement_no', 'external_agreement_no'],
]
const SENT_FIELD = new RegExp(`&(?:${[...READ, ...SENT].join('|')})=`)
const ANY_FIELD = /&[A-Za-z0-9_.-]+=/

/**
 * The first field whose value holds what reads as another one (`x&refund_fee=`). What Alipay signs is `k=v&k=v` without
 * any escape, so that who has a notice could cut its text anew under the same signature: a refund's fee and time put
 * into the value before them leave a payment, and a fee cut out of `passback_params` makes a refund of one. Values that
 * decide nothing may hold names that are none of Alipay's: `passback_params` that nobody escaped come as `a=1&b=2`.
 */
export function ambiguousField({ latin1, spans }: Form): string | undefined {
  // Separators are not in the decoded text: an ampersand lies in a value. Most notices have none.
  if (!latin1.includes('&')) return undefined
  for (const [name, { start, end }] of spans)
    if ((READ.has(name) ? ANY_FIELD : SENT_FIELD).test(latin1.slice(start, end))) return name
  return undefined
}

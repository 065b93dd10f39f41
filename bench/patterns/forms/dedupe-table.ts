import type { Form } from './form.ts'

/** "Insert into a table of processed messages in the transaction that marks the order paid, then ship." */
export const dedupeTable: Form = async ({ pool, ship }, { outTradeNo, eventType }) => {
  const { rowCount } = await pool.query(
    `with fresh as (
       insert into processed (message) values ($1) on conflict do nothing returning message
     )
     update purchases set status = 'paid' where out_trade_no = $2 and exists (select from fresh)`,
    [`${eventType}:${outTradeNo}`, outTradeNo],
  )
  if (rowCount === 0) return true
  // Killed here, the order is paid and never shipped.
  await ship(outTradeNo)
  return true
}

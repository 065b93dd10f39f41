import type { Form } from './form.ts'

/** "Look whether the order is paid already; if not, ship and mark it." */
export const queryFirst: Form = async ({ pool, ship }, { outTradeNo }) => {
  const { rows } = await pool.query<{ status: string }>('select status from purchases where out_trade_no = $1', [
    outTradeNo,
  ])
  if (rows[0]?.status === 'paid') return true
  // Whoever looks now sees the same.
  await ship(outTradeNo)
  await pool.query(`update purchases set status = 'paid' where out_trade_no = $1`, [outTradeNo])
  return true
}

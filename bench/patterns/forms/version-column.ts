import type { Form } from './form.ts'

/** "Update where the version is the one that was read; whoever changes the row ships." */
export const versionColumn: Form = async ({ pool, ship }, { outTradeNo }) => {
  const { rows } = await pool.query<{ status: string; version: number }>(
    'select status, version from purchases where out_trade_no = $1',
    [outTradeNo],
  )
  const [order] = rows
  if (order === undefined || order.status === 'paid') return true
  const { rowCount } = await pool.query(
    `update purchases set status = 'paid', version = version + 1 where out_trade_no = $1 and version = $2`,
    [outTradeNo, order.version],
  )
  if (rowCount === 0) return true
  // Killed here, the order is paid and never shipped.
  await ship(outTradeNo)
  return true
}

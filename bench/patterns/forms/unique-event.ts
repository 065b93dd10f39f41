import type { Form } from './form.ts'

/** "A unique index on (out_trade_no, event_type), and ship inside the transaction, so that both or neither happen." */
export const uniqueEvent: Form = async ({ pool, ship }, { outTradeNo, eventType }) => {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    const { rowCount } = await client.query(
      'insert into payment_events (out_trade_no, event_type) values ($1, $2) on conflict do nothing',
      [outTradeNo, eventType],
    )
    if (rowCount === 1) {
      await client.query(`update purchases set status = 'paid' where out_trade_no = $1`, [outTradeNo])
      await ship(outTradeNo)
      // Killed here, the transaction is rolled back and the parcel is not.
    }
    await client.query('commit')
    return true
  } catch (error) {
    broken = error instanceof Error ? error : new Error(String(error))
    throw broken
  } finally {
    client.release(broken)
  }
}

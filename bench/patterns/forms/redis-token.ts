import type { Form } from './form.ts'

/** "SETNX a token per payment; whoever gets it does the work, and gives it back if that fails." */
export const redisToken: Form = async ({ pool, redis, ship }, { outTradeNo, eventType }) => {
  const token = `token:${eventType}:${outTradeNo}`
  const got = await redis.set(token, '1', {
    condition: 'NX',
    expiration: { type: 'EX', value: 86_400 },
  })
  if (got === null) return true
  try {
    // Killed here, the token says "done" and nothing is.
    await pool.query(`update purchases set status = 'paid' where out_trade_no = $1`, [outTradeNo])
    await ship(outTradeNo)
    return true
  } catch (error) {
    await redis.del(token).catch(() => undefined)
    throw error
  }
}

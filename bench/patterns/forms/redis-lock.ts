import { randomUUID } from 'node:crypto'
import type { Form } from './form.ts'

/** Long enough for the work many times over; production takes 30 s, for which nobody would wait here. */
const LOCK_MS = 3_000
const UNLOCK = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`

/** "Take a lock, look at the status, ship, mark it, give the lock back by compare and delete." */
export const redisLock: Form = async ({ pool, redis, ship }, { outTradeNo }) => {
  const [key, owner] = [`lock:${outTradeNo}`, randomUUID()]
  const got = await redis.set(key, owner, { condition: 'NX', expiration: { type: 'PX', value: LOCK_MS } })
  if (got === null) return false
  try {
    const { rows } = await pool.query<{ status: string }>('select status from purchases where out_trade_no = $1', [
      outTradeNo,
    ])
    if (rows[0]?.status === 'paid') return true
    // If Redis forgets the lock here, another takes it, and sees the same status.
    await ship(outTradeNo)
    // Killed here, the lock runs out and the next one ships again.
    await pool.query(`update purchases set status = 'paid' where out_trade_no = $1`, [outTradeNo])
    return true
  } finally {
    await redis.eval(UNLOCK, { keys: [key], arguments: [owner] }).catch(() => undefined)
  }
}

import type pg from 'pg'
import { expect, test } from 'vitest'
import { withDatabase } from '../helpers/database.ts'
import { aFact, anOrder, aRecord, create, openLane } from '../helpers/lane-bench.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

const refund = aFact('r1', { eventType: 'refund_succeeded', paymentRef: 'wechatpay:p1', amountMinor: 30 })

/** A callback before its order, of two merchants; a refund before its payment, held for an hour. */
async function given(url: string, pool: pg.Pool) {
  await create(pool, [anOrder('B')])
  const lane = await openLane(url)
  await lane.apply([
    aRecord(0, 'A', [aFact('p\u001b[2J')]),
    aRecord(1, 'B', [refund]),
    aRecord(2, 'C', [aFact('c')], { merchant: 'other' }),
  ])
  await pool.query(`update facts set recorded_at = now() - interval '1 hour' where event_type = 'refund_succeeded'`)
  return lane
}

test(
  'what waits is listed with what it waits for and until when, the longest first',
  () =>
    withDatabase(async (url, pool) => {
      const env = { DATABASE_URL: url }
      expect(await paidonce(['held', 'list'], env)).toMatchObject({ code: 0, stdout: '(none)\n' })
      const lane = await given(url, pool)
      const { code, json } = await paidonceJson(['held', 'list'], env)
      expect([code, json]).toMatchObject([
        0,
        {
          more: false,
          held: [
            {
              ...{ merchant: 'm1', out_trade_no: 'B', event_type: 'refund_succeeded', provider_ref: 'wechatpay:r1' },
              ...{ payment_ref: 'wechatpay:p1', amount_minor: 30, currency: 'CNY', waits_for: 'payment', lane: 0 },
              limit_at: expect.stringMatching(/^20/) as string,
            },
            { out_trade_no: 'A', waits_for: 'order', limit_at: expect.stringMatching(/^20/) as string },
            { merchant: 'other', out_trade_no: 'C', waits_for: 'order' },
          ],
        },
      ])
      const { stdout } = await paidonce(['held', 'list', '--limit', '2'], env)
      expect(stdout).toMatch(/refund_succeeded.*30 CNY.*payment wechatpay:p1.*\n[^]*p\\u\{1b\}\[2J.*its order/)
      expect(stdout).toContain('There are more than these 2')
      expect(stdout).not.toContain('\u001b')
      const numbers = async (...options: string[]) =>
        ((await paidonceJson(['held', 'list', ...options], env)).json as { held: { out_trade_no: string }[] }).held.map(
          ({ out_trade_no: number }) => number,
        )
      expect(await numbers('--merchant', 'other')).toEqual(['C'])
      expect(await numbers('--older-than', '30m')).toEqual(['B'])
      expect(await numbers('--since', '30m')).toEqual(['A', 'C'])
      expect(await numbers('--since', '2h', '--until', '30m')).toEqual(['B'])
      // The order appears: nothing waits for it any more.
      await create(pool, [anOrder('A')])
      await lane.wake()
      expect(await numbers()).toEqual(['B', 'C'])
      await lane.session.close()
    }),
  60_000,
)

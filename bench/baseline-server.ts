// The usual way, for comparison: verify, then one Postgres transaction per callback with a dedupe table, then answer.
// Its verification is ours, so that the difference is what comes after it. Prints its port; ends on SIGTERM.
import type { AddressInfo } from 'node:net'
import express from 'express'
import pg from 'pg'
import type { Fact } from '../src/orders/model.ts'
import { loadMerchants } from '../src/providers/merchants.ts'

const { DATABASE_URL, MERCHANTS_DIR } = process.env
if (DATABASE_URL === undefined || MERCHANTS_DIR === undefined) throw new Error('set DATABASE_URL and MERCHANTS_DIR')

const merchants = loadMerchants(MERCHANTS_DIR)
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 20 })

/** One payment: remembered, its order paid and its event in the outbox, or nothing of it. */
async function pay(merchant: string, outTradeNo: string, fact: Fact): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const seen = await client.query(
      'insert into seen (merchant, out_trade_no, ref) values ($1, $2, $3) on conflict do nothing',
      [merchant, outTradeNo, fact.providerRef],
    )
    if (seen.rowCount === 1) {
      const order = await client.query<{ status: string }>(
        'select status from purchases where merchant = $1 and out_trade_no = $2 for update',
        [merchant, outTradeNo],
      )
      if (order.rows[0]?.status === 'pending') {
        await client.query(
          "update purchases set status = 'paid', paid_ref = $3, updated_at = now() where merchant = $1 and out_trade_no = $2",
          [merchant, outTradeNo, fact.providerRef],
        )
        await client.query('insert into outbox (key, body) values ($1, $2)', [outTradeNo, JSON.stringify(fact)])
      }
    }
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  } finally {
    client.release()
  }
}

const app = express()
app.disable('x-powered-by')
app.post(
  '/callbacks/:provider/:merchant',
  express.raw({ type: () => true, limit: '64kb' }),
  async (request, response) => {
    const { provider, merchant } = request.params
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(request.headers)) if (typeof value === 'string') headers[name] = value
    const rawBody = request.body as Buffer
    const verdict = merchants.find(provider, merchant)?.verify({ headers, repeatedHeaders: [], rawBody }, new Date())
    if (verdict?.kind !== 'verified') return void response.status(401).json({ code: 'FAIL', message: 'refused' })
    for (const { outTradeNo, facts } of verdict.messages)
      for (const fact of facts) await pay(merchant, outTradeNo ?? '', fact)
    response.json({ code: 'SUCCESS', message: '成功' })
  },
)

const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`)
})
process.once('SIGTERM', () => process.exit(0))

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readGatewayConfig } from '../../src/gateway/config.ts'
import { startGateway } from '../../src/gateway/start.ts'
import { apiKey } from '../../src/providers/wechatpay-v2/api-key.ts'
import { paymentFields, refundNotice } from '../../src/providers/wechatpay-v2/compose.ts'
import { sealRefund, signPayment } from '../../src/providers/wechatpay-v2/sign.ts'
import { createLog } from '../../src/runtime/log.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { ready } from '../helpers/gateway.ts'
import { post } from '../helpers/http.ts'
import { AMOUNT_MINOR, createInstallation, MERCHANT } from '../helpers/installation.ts'
import { metricOf, probe, startTestProcessor } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

const SECRET = '0123456789abcdef0123456789ABCDEF'
const KEY = apiKey(SECRET)
const PARTY = { mchid: '1900000001', appid: 'wx0000000000000001' }

test('WeChat Pay v2, from its XML to what follows: a payment ships, an unsigned refund asks for a query', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'paidonce-v2-'))
  writeFileSync(join(directory, 'api.key'), SECRET)
  const section = { mchid: PARTY.mchid, appids: [PARTY.appid], apiKeyFiles: ['api.key'] }
  writeFileSync(join(directory, `${MERCHANT}.json`), JSON.stringify({ 'wechatpay-v2': section }))
  const installation = await createInstallation({ partitions: 2 })
  await installation.createOrders(['P1'])
  const config = readGatewayConfig(installation.env({ MERCHANTS_DIR: directory }))
  const gateway = await startGateway(config, { log: createLog('gateway', 'silent') })
  const processor = await startTestProcessor(installation)
  try {
    await ready(gateway)
    const paid = { outTradeNo: 'P1', transactionId: '4200001', totalFen: AMOUNT_MINOR, paidAt: new Date() }
    const refundOf = (outTradeNo: string) => {
      const order = { ...{ outTradeNo, transactionId: '4200001', outRefundNo: 'R-1', refundId: '5000001' } }
      const { envelope, refund } = refundNotice(PARTY, {
        ...{ ...order, totalFen: AMOUNT_MINOR, refundFen: AMOUNT_MINOR, status: 'SUCCESS', at: new Date() },
      })
      return sealRefund(envelope, refund, KEY)
    }
    const sent = [
      signPayment(paymentFields(PARTY, paid), KEY),
      refundOf('P1'),
      refundOf('P1'),
      refundOf('nobody'),
      signPayment({ ...paymentFields(PARTY, { ...paid, outTradeNo: 'P2' }), result_code: 'FAIL' }, KEY),
    ]
    const path = `/callbacks/wechatpay-v2/${MERCHANT}`
    for (const request of sent) {
      const { status, headers, body } = await post(gateway.port, { path, ...request })
      expect(status).toBe(200)
      expect(headers['content-type']).toBe('text/xml')
      expect(body.toString()).toBe(
        '<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>',
      )
    }
    const forged = signPayment(paymentFields(PARTY, paid), apiKey('f'.repeat(32)))
    expect(await post(gateway.port, { path, ...forged })).toMatchObject({ status: 401 })

    await until('every record is counted', async () => {
      const { text } = await probe(processor, '/metrics')
      return metricOf(text, 'paidonce_records_total') === sent.length
    })
    const { text } = await probe(processor, '/metrics')
    expect(metricOf(text, 'paidonce_records_total', 'outcome="noted"')).toBe(4)
    expect(metricOf(text, 'paidonce_records_total', 'outcome="applied"')).toBe(1)
    // The refund was not believed: the order is still paid, and nothing was called back.
    expect(checkExactlyOnce(['P1'], await readEvents(installation.topics, { atLeast: 3 }))).toEqual(
      nothingWrong(['P1']),
    )
    const { pool } = installation.database
    const { rows } = await pool.query(
      `select o.out_trade_no, o.status, t.kind, t.ref, t.due_at <= now() as due
       from orders o left join timers t on t.order_id = o.id and t.kind = 'query'`,
    )
    expect(rows).toEqual([{ out_trade_no: 'P1', status: 'paid', kind: 'query', ref: 'refund:R-1', due: true }])
    expect((await pool.query('select 1 from dead_letters')).rowCount).toBe(0)
  } finally {
    await gateway.stop()
    await processor.stop()
    await installation.drop()
    rmSync(directory, { recursive: true })
  }
})

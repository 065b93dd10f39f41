import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi } from '../../src/api/start.ts'
import { readGatewayConfig } from '../../src/gateway/config.ts'
import { startGateway } from '../../src/gateway/start.ts'
import { mintToken } from '../../src/runtime/access-token.ts'
import type { Running } from '../../src/runtime/lifecycle.ts'
import { createLog } from '../../src/runtime/log.ts'
import { expectedOf } from '../../src/simulator/expected.ts'
import { createKeys } from '../../src/simulator/keys.ts'
import { readLog } from '../../src/simulator/log.ts'
import { planOf, type Story } from '../../src/simulator/plan.ts'
import { runSimulation } from '../../src/simulator/start.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { checkExactlyOnce, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation } from '../helpers/installation.ts'
import { startTestProcessor } from '../helpers/processor.ts'
import { printedRandom } from '../helpers/seed.ts'
import { until } from '../helpers/until.ts'

test('what the log says was paid has its events once in Kafka, and nothing else has any', async () => {
  const { seed } = printedRandom('simulation')
  const directory = mkdtempSync(join(tmpdir(), 'simulation-'))
  const where = { merchantsDir: join(directory, 'merchants'), sendersDir: join(directory, 'senders') }
  const [installation, keys] = await Promise.all([
    createInstallation(),
    createKeys(where, ['shop', 'books'], new Date()),
  ])
  const { token, hash } = mintToken()
  await insertApiToken(installation.database.pool, {
    ...{ name: 'simulator', tokenHash: hash, merchant: null, role: 'admin', expiresAtMs: null },
  })
  const log = createLog('test', 'error')
  const env = installation.env({ MERCHANTS_DIR: where.merchantsDir })
  const [api, one, two, processor] = await Promise.all([
    startApi(readApiConfig(env), { log }),
    startGateway(readGatewayConfig(env), { log }),
    startGateway(readGatewayConfig(env), { log }),
    startTestProcessor(installation),
  ])
  const running: readonly Running[] = [api, one, two, processor]
  try {
    await until('all are ready', async () => {
      const probes = [api, one, two].map(({ metricsPort }) => fetch(`http://127.0.0.1:${metricsPort}/readyz`))
      return (await Promise.all(probes)).every(({ ok }) => ok)
    })
    const logFile = join(directory, 'run.jsonl')
    const shares = {
      created_late: 0.1,
      unknown: 0.1,
      wrong_amount: 0.1,
      second_payment: 0.1,
      forged: 0.1,
      stale: 0.1,
      probed: 0.1,
    }
    const orders = planOf({
      ...{ seed, runId: 'S', merchants: ['shop', 'books'], orders: 300, deliveriesPerOrder: 5 },
      ...{ spreadMs: 1_500, againMs: 1_000, reportShare: 0.3, shares },
    })
    const tally = await runSimulation({
      orders,
      keys,
      gateways: [one, two].map(({ port }) => `http://127.0.0.1:${port}`),
      api: { url: `http://127.0.0.1:${api.port}`, token },
      logFile,
    })
    const { paid, uncertain, wronglyAccepted } = expectedOf(readLog(logFile))
    expect({ uncertain, wronglyAccepted, wrongForm: tally.heard.wrong_form }).toEqual({
      uncertain: [],
      wronglyAccepted: [],
      wrongForm: 0,
    })
    expect(tally.refusedByDefect.none).toBe(0)
    const seen = await readEvents(installation.topics, { atLeast: 3 * paid.length })
    const { events, ...findings } = checkExactlyOnce(
      paid.map(({ outTradeNo }) => outTradeNo),
      seen,
      { inOrder: false },
    )
    expect(findings).toEqual({ lost: [], duplicated: [], phantom: [], disordered: [] })
    expect(events).toBe(3 * paid.length)
    const count = async (sql: string) => (await installation.database.pool.query<{ n: number }>(sql)).rows[0]?.n
    const planned = (story: Story) => orders.filter((order) => order.story === story).length
    await until('every report has been applied', async () => {
      return (await count("select count(*)::int as n from orders where status = 'shipped'")) === tally.reports
    })
    const anomalies = (kind: string) => count(`select count(*)::int as n from anomalies where kind = '${kind}'`)
    expect(await anomalies('amount_mismatch')).toBe(planned('wrong_amount'))
    expect(await anomalies('double_payment')).toBe(planned('second_payment'))
    expect(await count('select count(*)::int as n from anomalies')).toBe(
      planned('wrong_amount') + planned('second_payment'),
    )
  } finally {
    await Promise.all(running.map((process) => process.stop()))
    await installation.drop()
    rmSync(directory, { recursive: true, force: true })
  }
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { transactionOn } from '../../src/runtime/postgres.ts'
import { createBillRows } from '../../src/store/bill-rows.ts'
import { beginBillRun, finishBillRun, readBillGauges, type BillResult } from '../../src/store/bill-runs.ts'
import { createDatabase, type TestDatabase } from '../helpers/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const DAY_MS = 86_400_000
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)

interface Given {
  readonly result?: BillResult
  /** Their state, and whether an anomaly stands for them. */
  readonly findings?: readonly (readonly [state: string, anomaly?: string])[]
}
async function imported(merchant: string, day: string, { result = 'findings', findings = [] }: Given) {
  const about = { provider: 'alipay', merchant, day, actor: 'test', filesSha256: '' }
  const run = await beginBillRun(database.pool, about)
  const client = await database.pool.connect()
  const stored = findings.map(([state, anomaly]) => ({
    ...{ finding: 'missing_here', state, document: anomaly === undefined ? {} : { anomaly } },
  }))
  await client.query('drop table if exists bill_rows')
  await createBillRows(client)
  const matched = result === 'undecided' ? undefined : { isWhole: true, fromMs: Date.now(), refunds: false }
  await transactionOn(client, (tx) =>
    finishBillRun(tx, run, { result, digest: null, report: {}, findings: stored, matched }),
  )
  client.release()
}
const gauges = async () => {
  const { findings, unconfirmed, undecided } = await readBillGauges(database.pool)
  return { findings, unconfirmed, undecided }
}

test('what bills leave to a person is counted, until an anomaly stands for it, and for a month', async () => {
  expect(await readBillGauges(database.pool)).toEqual({ findings: {}, unconfirmed: 0, undecided: 0, ageSec: null })
  const findings = [['open'], ['unconfirmed'], ['denied', 'bill_differs/x'], ['published'], ['confirmed']] as const
  await imported('shop', daysAgo(1), { findings })
  await imported('shop', daysAgo(40), { findings })
  expect(await gauges()).toEqual({ findings: { missing_here: 2 }, unconfirmed: 1, undecided: 0 })
  // What was imported since stands, unless it was not trusted: then both are told.
  await imported('shop', daysAgo(1), { result: 'undecided' })
  expect(await gauges()).toEqual({ findings: { missing_here: 2 }, unconfirmed: 1, undecided: 1 })
  await imported('shop', daysAgo(1), { findings: [['denied', 'bill_differs/x']] })
  expect(await gauges()).toEqual({ findings: {}, unconfirmed: 0, undecided: 0 })
})

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { billFormatOf } from '../../../src/providers/bill-formats.ts'
import type { BillProvider } from '../../../src/providers/bill.ts'
import { loadQueryClients } from '../../../src/providers/query-clients.ts'
import type { QueryClient } from '../../../src/providers/query.ts'
import { chinaDayOf } from '../../../src/reconcile/bill/china-day.ts'
import { fetchBill } from '../../../src/reconcile/bill/fetch/start.ts'
import { importBill } from '../../../src/reconcile/bill/start.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { billEntries, differenceOf, type BillEntry } from '../../../src/simulator/bill-entries.ts'
import { createKeys } from '../../../src/simulator/create-keys.ts'
import { pointQueriesAt } from '../../../src/simulator/create-query-keys.ts'
import type { SenderKeys } from '../../../src/simulator/keys.ts'
import { planOf } from '../../../src/simulator/plan.ts'
import { serveQueries } from '../../../src/simulator/query-server.ts'
import type { QueryFault } from '../../../src/simulator/query-faults.ts'
import { truthOf, type Truth } from '../../../src/simulator/truth.ts'
import { paidonceJson } from '../../cli/paidonce.ts'
import { keepBooks, type BookedFact } from '../../helpers/books.ts'
import { createDatabase, type TestDatabase } from '../../helpers/database.ts'
import { printedRandom } from '../../helpers/seed.ts'

/** Two days ago: its bill is made, whatever the hour. */
const DAY = chinaDayOf(Date.now() - 2 * 86_400_000)
const START = new Date(`${DAY}T12:00:00+08:00`)
const { seed } = printedRandom('fetched bills')
const dir = mkdtempSync(join(tmpdir(), 'paidonce-fetch-'))
const [merchantsDir, sendersDir, queryKeysDir] = [join(dir, 'merchants'), join(dir, 'senders'), join(dir, 'queries')]
const closing: (() => Promise<unknown>)[] = []
let [keys, truth, database]: [SenderKeys[], Truth, TestDatabase] = [
  ...([[], undefined, undefined] as unknown as [SenderKeys[], Truth, TestDatabase]),
]
beforeAll(async () => {
  database = await createDatabase()
  keys = await createKeys({ merchantsDir, sendersDir, queriesDir: queryKeysDir }, ['shop'], START)
  const orders = planOf({
    ...{ seed, runId: 'B', merchants: ['shop'], orders: 200, deliveriesPerOrder: 1, spreadMs: 10_000, againMs: 10_000 },
    providers: { wechatpay: 1, 'wechatpay-v2': 1, alipay: 1 },
    stories: { refund_failed: 0.1, refunded_partly: 0.2, refunded_fully: 0.1, combined: 0.05, closed: 0.1 },
  })
  truth = truthOf(orders, (atMs) => new Date(Math.floor((START.getTime() + atMs) / 1_000) * 1_000), systemClock)
  await keepBooks(database.pool, [...entriesOf('wechatpay').map(ofWechatpay), ...entriesOf('alipay').map(ofAlipay)])
})
afterAll(async () => {
  await Promise.all(closing.map((close) => close()))
  await database.drop()
  rmSync(dir, { recursive: true })
})

const SHARES = { left_out: 0.1, unknown: 0.1, amount: 0.1, twice: 0.1 }
async function serve(differences = {}, fault?: QueryFault, isOtherFile = false) {
  const faults = { seed, slowMs: 1, shares: fault === undefined ? {} : { [fault]: 1 } }
  const options = {
    port: 0,
    keys,
    truth,
    clock: systemClock,
    faults,
    differences: { shares: differences, seed, isOtherFile },
  }
  const server = await serveQueries(options)
  closing.push(server.close)
  pointQueriesAt(queryKeysDir, server.url)
  return server.url
}
const entriesOf = (provider: BillProvider) =>
  billEntries(DAY, { provider, merchant: 'shop', truth, now: new Date(), differences: undefined }) ?? []

const booked = ({ transaction, refund }: BillEntry): Omit<BookedFact, 'ref'> => ({
  ...{ order: transaction.outTradeNo, atMs: truth.dateOf((refund ?? transaction).atMs).getTime() },
  minor: (refund ?? transaction).amountMinor,
})
const ofWechatpay = (entry: BillEntry): BookedFact => {
  const [{ transaction, refund }, paymentRef] = [entry, `wechatpay:${entry.transaction.transactionId}`]
  if (refund === null) return { ...booked(entry), ref: paymentRef, currency: transaction.currency }
  const ref = `wechatpay:${refund.refundId}`
  return refund.state === 'succeeded'
    ? { ...booked(entry), ref, paymentRef }
    : { ...booked(entry), ref: `${ref}/${refund.state}`, paymentRef, kind: 'refund_failed' }
}
const ofAlipay = (entry: BillEntry): BookedFact => {
  const paymentRef = `alipay:${entry.transaction.transactionId}`
  return entry.refund === null
    ? { ...booked(entry), ref: paymentRef }
    : { ...booked(entry), ref: `${paymentRef}/refund/${entry.refund.outRefundNo}`, paymentRef }
}

const fetched = (provider: BillProvider, day = DAY, of = 'shop', clients?: ReadonlyMap<string, QueryClient>) => {
  const { asked } = billFormatOf(merchantsDir, 'shop', provider)
  const to = mkdtempSync(join(dir, 'to-'))
  return fetchBill({ merchant: of, asked, day, dir: to, queryKeysDir, merchantsDir, ...(clients && { clients }) })
}
async function imported(provider: BillProvider) {
  const bill = await fetched(provider)
  if (bill.kind !== 'fetched') throw new Error(bill.detail)
  const format = billFormatOf(merchantsDir, 'shop', provider)
  const request = { provider, merchant: 'shop', day: DAY, paths: [bill.path], actor: 'test', format, dryRun: false }
  const deps = { databaseUrl: database.url, pool: database.pool, clock: systemClock }
  const end = await importBill({ ...request, archiveAfterDays: 400 }, deps)
  if (end.kind !== 'done') throw new Error(end.kind)
  return end.report
}

/** What each seeded difference is found as. */
function expectedOf(provider: BillProvider) {
  const differences = { shares: SHARES, seed }
  const [found, unknown] = [[] as string[], new Map<string, number>()]
  let notJudged = 0
  for (const entry of entriesOf(provider)) {
    const { transaction, refund } = entry
    const { ref } = provider === 'alipay' ? ofAlipay(entry) : ofWechatpay(entry)
    const isSettled = refund === null || refund.state === 'succeeded'
    switch (differenceOf(entry, differences)) {
      case 'left_out':
        // A refund of WeChat Pay may stand in the bill of a day that is not here.
        if (refund === null || provider === 'alipay') found.push(`not_there ${ref}`)
        else if (isSettled) notJudged += 1
        break
      case 'unknown': {
        const other = `${provider}:${transaction.transactionId}9`
        const before = unknown.get(other) ?? 0
        found.push(`${before === 0 ? 'missing_here' : 'twice_there'} ${other}`)
        unknown.set(other, before + 1)
        break
      }
      case 'amount':
        if (isSettled) found.push(`amount_differs ${ref}`)
        break
      case 'twice':
        found.push(`twice_there ${isSettled ? ref : ref.split('/')[0]}`)
        break
      case undefined:
        break
    }
  }
  return { found: found.sort(), notJudged }
}

describe.each(['wechatpay', 'alipay'] as const)('%s', (provider) => {
  test('a bill that is fetched has what was paid and refunded, and nothing else', async () => {
    await serve()
    const report = await imported(provider)
    expect(report).toMatchObject({ result: 'ok', findings: [], notJudged: 0 })
    const entries = entriesOf(provider)
    expect(entries.filter(({ refund }) => refund !== null).length).toBeGreaterThan(5)
    expect(report.sums).toMatchObject({
      payments: entries.filter(({ refund }) => refund === null).length,
      refunds: entries.filter(({ refund }) => refund !== null).length,
    })
  })

  test('with seeded differences: exactly those are named', async () => {
    await serve(SHARES)
    const report = await imported(provider)
    const { found, notJudged } = expectedOf(provider)
    expect(found.length).toBeGreaterThan(5)
    expect(report.findings.map(({ finding, ref }) => `${finding} ${ref ?? ''}`).sort()).toEqual(found)
    expect(report.notJudged).toBe(notJudged)
  })

  test('an answer that is not signed, and a bill that is not made, are none', async () => {
    await serve({}, 'wrong_signature')
    expect(await fetched(provider)).toMatchObject({
      kind: 'not_given',
      detail: expect.stringContaining('bad_signature') as unknown,
    })
    await serve()
    const code = provider === 'alipay' ? 'isp.bill_not_exist' : 'NO_STATEMENT_EXIST'
    expect(await fetched(provider, chinaDayOf(Date.now()))).toMatchObject({
      kind: 'not_given',
      detail: expect.stringContaining(code) as unknown,
    })
    expect(await fetched(provider, DAY, 'nobody')).toMatchObject({ kind: 'no_keys' })
  })
})

test('a file that is not the one that was signed for is not taken', async () => {
  await serve({}, undefined, true)
  expect(await fetched('wechatpay')).toEqual({
    ...{ kind: 'not_fetched', detail: 'it is not the file that the provider signed for: its SHA-1 is another' },
  })
})

test('many that fetch wait for their turn: our own limit of questions is no failed attempt', async () => {
  const url = await serve()
  pointQueriesAt(queryKeysDir, url, { requestsPerSec: 1 })
  const clients = loadQueryClients({ queryKeysDir, merchantsDir }).get('shop') ?? new Map<string, QueryClient>()
  const bills = Array.from({ length: 12 }, () => fetched('wechatpay', DAY, 'shop', clients))
  expect((await Promise.all(bills)).map((bill) => bill.kind)).toEqual(bills.map(() => 'fetched'))
}, 60_000)

test('on the command line: fetched, matched, and nothing left lying', async () => {
  await serve()
  const tmp = mkdtempSync(join(dir, 'tmp-'))
  const env = { DATABASE_URL: database.url, MERCHANTS_DIR: merchantsDir, QUERY_KEYS_DIR: queryKeysDir, TMPDIR: tmp }
  const of = ['--provider', 'wechatpay', '--merchant', 'shop', '--date', DAY]
  const end = await paidonceJson(['bill', 'import', '--fetch', ...of], env)
  expect(end).toMatchObject({ code: 0, json: { result: 'ok', findings: [] } })
  expect(readdirSync(tmp)).toEqual([])
}, 240_000)

import { expect, test } from 'vitest'
import type { Transaction } from '../../src/runtime/postgres.ts'
import { findFacts } from '../../src/store/find-facts.ts'
import { aFact } from '../helpers/lane-bench.ts'
import { createServer, type Session, type Statement } from './postgres/server.ts'
import { createRandom } from './world/random.ts'
import { createScheduler } from './world/scheduler.ts'

const nothing = () => undefined

/** A simulated Postgres, asked without a network. */
function openServer() {
  const scheduler = createScheduler(nothing)
  const events = { beforeCommit: nothing, onDeadlock: nothing, onNotify: nothing }
  const server = createServer(scheduler, createRandom(1), events)
  const host = scheduler.host('client')
  const ask = (session: Session, statement: Statement | string) =>
    new Promise<{ rows: readonly unknown[] }>((resolve, reject) => {
      const asked = typeof statement === 'string' ? { text: statement, values: [] } : statement
      server.execute(session, asked, (error, answer) => {
        if (error !== undefined) reject(error)
        else resolve({ rows: answer?.rows ?? [] })
      })
    })
  /** Inserts the stub of an order, if there is no such order. */
  const insertStub = (session: Session) => {
    const tx = { query: (statement: Statement) => ask(session, statement) } as unknown as Transaction
    return findFacts(tx, 0, [{ merchant: 'm1', outTradeNo: 'T1', fact: aFact('a') }])
  }
  const begin = async () => {
    const session = server.open(host, 'client')
    await ask(session, 'begin')
    return session
  }
  const orders = () => [...server.database.tables.orders.cells.values()]
  return { server, ask, insertStub, begin, orders }
}

/** A transaction that has inserted the row and failed; its client, as one that is frozen, has not said ROLLBACK. */
async function failAfterInsert({ server, insertStub, begin }: ReturnType<typeof openServer>): Promise<Session> {
  const session = await begin()
  await insertStub(session)
  server.trouble = 1
  await expect(insertStub(session)).rejects.toThrow('trouble')
  server.trouble = 0
  return session
}

test('a client that ends long after its transaction has failed takes no row of others along', async () => {
  const bench = openServer()
  const [failed, other] = [await failAfterInsert(bench), await bench.begin()]
  await bench.insertStub(other)
  await bench.ask(other, 'commit')
  bench.server.end(failed)
  expect(bench.orders().map(({ committed }) => committed?.outTradeNo)).toEqual(['T1'])
})

test('nor the lock of one that is not committed yet', async () => {
  const bench = openServer()
  const [failed, other] = [await failAfterInsert(bench), await bench.begin()]
  await bench.insertStub(other)
  bench.server.end(failed)
  expect(bench.orders().map(({ owner }) => owner)).toEqual([other.tx])
})

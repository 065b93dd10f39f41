import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAuditConfig } from '../../../src/reconcile/audit/config.ts'
import { runAudit } from '../../../src/reconcile/audit/start.ts'
import { endConnections } from '../../../src/runtime/end-connections.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { createPool } from '../../../src/runtime/postgres.ts'
import { isDatabaseTrouble } from '../../../src/runtime/postgres-fault.ts'
import { fillOutbox } from '../../helpers/fill-outbox.ts'
import { createInstallation, type Installation } from '../../helpers/installation.ts'

let it: Installation
const log = createLog('audit', 'silent')
beforeAll(async () => {
  it = await createInstallation({ partitions: 1 })
  await fillOutbox(it, 10)
}, 60_000)
afterAll(() => it.drop())

/** A way to Postgres that can be frozen: connections stay, and nothing passes any more. */
async function frozenWay(to: URL) {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(to.port), to.hostname)
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined))
    near.pipe(far).pipe(near)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = new URL(to)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    freeze: () => sockets.forEach((socket) => socket.unpipe().pause()),
    close: () => {
      sockets.forEach((socket) => socket.destroy())
      server.close()
    },
  }
}

test('Postgres freezes midway: an error, no verdict and no hang; the run goes on later', async () => {
  const way = await frozenWay(new URL(it.database.url))
  const pool = createPool(way.url, 'test', log, 2, { answerMs: 2_000 })
  const config = readAuditConfig(it.env({ DATABASE_URL: way.url }))
  const window = { sinceMs: Date.now() - 86_400_000, untilMs: Date.now() + 1_000 }
  try {
    const running = runAudit(
      config,
      pool,
      {
        ...{ actor: 'test', window, onProgress: () => undefined },
        reach: (point) => (point === 'audit_lane_judged' ? way.freeze() : undefined),
      },
      log,
    )
    const error: unknown = await running.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(isDatabaseTrouble(error)).toBe(true)
    const { rows } = await it.database.pool.query('select result, digest from audit_runs')
    expect(rows).toEqual([{ result: null, digest: null }])
    await endConnections(() => pool.end(), [])
  } finally {
    way.close()
  }
})

import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startChild } from '../helpers/child.ts'
import { createMerchant, type TestMerchant } from '../helpers/merchant.ts'

let taken: Server
let merchant: TestMerchant
beforeAll(async () => {
  merchant = createMerchant()
  taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, resolve))
})
afterAll(() => {
  taken.close()
  merchant.remove()
})

// Nothing answers there: none of these mistakes needs a server to be found.
const NOWHERE = { KAFKA_BROKERS: '127.0.0.1:1', SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' }
const DATABASE_URL = 'postgres://u:hunter2@127.0.0.1:1/x'

async function start(name: string, env: Record<string, string>) {
  const child = startChild(join(import.meta.dirname, `../../src/${name}/main.ts`), {
    ...{ PATH: process.env['PATH'], LOG_LEVEL: 'silent', PORT: '0', METRICS_PORT: '0', DATABASE_URL },
    ...{ ...NOWHERE, MERCHANTS_DIR: merchant.dir, ...env },
  })
  const { code } = await child.exited
  return { code, said: child.lines.map(({ text }) => text) }
}

test.each([
  ['api', 'PORT'],
  ['api', 'METRICS_PORT'],
  ['gateway', 'PORT'],
  ['gateway', 'METRICS_PORT'],
  ['processor', 'METRICS_PORT'],
])('%s: %s is in use', async (name, variable) => {
  const { port } = taken.address() as AddressInfo
  // The api listens to one address only unless told otherwise; the port is taken on all.
  expect(await start(name, { [variable]: String(port), HOST: '0.0.0.0' })).toEqual({
    code: 2,
    said: ['Bad configuration:', `✖ ${variable} ${port} is in use: stop what listens there, or choose another port`],
  })
})

test.each(['256.1.1.1', 'nowhere.invalid', '203.0.113.7'])('api: HOST %s', async (HOST) => {
  const { code, said } = await start('api', { HOST })
  expect([code, said.length]).toEqual([2, 2])
  expect(said[1]).toMatch(new RegExp(`^✖ HOST ${HOST} is no address of this machine \\([A-Z_]+\\): 127.0.0.1 is for`))
})

test.each(['api', 'processor'])('%s: a certificate of the database that cannot be read', async (name) => {
  const url = `${DATABASE_URL}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`
  expect(await start(name, { DATABASE_URL: url })).toEqual({
    code: 2,
    said: [
      'Bad configuration:',
      '✖ DATABASE_URL names a file in sslrootcert that cannot be read (ENOENT): /nowhere/ca.pem',
    ],
  })
})

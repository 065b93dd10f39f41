import type pg from 'pg'
import { readApiConfig } from '../../src/api/config.ts'
import { startApi, type Api } from '../../src/api/start.ts'
import { mintToken, type Role } from '../../src/runtime/access-token.ts'
import { createLog } from '../../src/runtime/log.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { insertApiToken } from '../../src/store/api-tokens.ts'
import { recordTopology } from '../../src/store/topology.ts'
import { createDatabase, type TestDatabase } from '../helpers/database.ts'
import { createCheck, documentOf } from './check-answer.ts'
import { until } from '../helpers/until.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, unknown>
}
export type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

/** An api on a database of its own, with 12 lanes. */
export interface TestApi {
  readonly api: Api
  readonly database: TestDatabase
  readonly url: string
  readonly pool: pg.Pool
  /** A new token, and a caller that uses it. */
  readonly as: (
    role: Role,
    merchant: string | null,
    expiresAtMs?: number | null,
  ) => Promise<Call & { readonly token: string }>
  readonly stop: () => Promise<void>
}

export async function startTestApi(env: Record<string, string> = {}): Promise<TestApi> {
  const database = await createDatabase()
  await recordTopology(database.pool, INPUT_TOPIC, 12)
  const config = readApiConfig({
    DATABASE_URL: database.url,
    PORT: '0',
    METRICS_PORT: '0',
    LOG_LEVEL: 'silent',
    ...env,
  })
  const api = await startApi(config, { log: createLog('api', config.LOG_LEVEL) })
  await until('the api is ready', async () => (await fetch(`http://127.0.0.1:${api.metricsPort}/readyz`)).ok)
  const url = `http://127.0.0.1:${api.port}`
  let tokens = 0
  return {
    ...{ api, database, url, pool: database.pool },
    as: async (role, merchant, expiresAtMs = null) => {
      const { token, hash } = mintToken()
      await insertApiToken(database.pool, { name: `${role}-${tokens++}`, tokenHash: hash, merchant, role, expiresAtMs })
      return Object.assign(callWith(url, token), { token })
    },
    stop: async () => {
      await api.stop()
      await database.drop()
    },
  }
}

const check = createCheck(await documentOf())

/** A caller with this token; a buffer is sent as it is. Every answer must be as the OpenAPI document says. */
export const callWith =
  (url: string, token: string): Call =>
  async (method, path, body, headers = {}) => {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body) }),
    })
    const { status, headers: sent } = answer
    const json = (await answer.json()) as Answer['body']
    const asked = Buffer.isBuffer(body) ? (JSON.parse(body.toString()) as unknown) : body
    check({ method, path, sent: asked, status, contentType: sent.get('content-type'), body: json })
    return { status, headers: sent, body: json }
  }

export const anOrder = (outTradeNo: string, more: Record<string, unknown> = {}) => ({
  merchant: 'acme',
  out_trade_no: outTradeNo,
  amount_minor: 1_999,
  currency: 'CNY',
  expires_at: '2036-11-11T12:30:00+08:00',
  ...more,
})

/** A problem's body without what differs from one request to the next. */
export const withoutInstance = (body: Answer['body']) =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'instance'))

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SCHEMAS, subjectOf } from '../../src/schemas/definitions.ts'
import { TOPICS } from '../../src/schemas/topics.ts'

/** A registry of the test's own: it can be away, silent or hidden behind a proxy that denies everything. */
export interface FakeRegistry {
  readonly url: string
  readonly requests: string[]
  /** What a request gets: the truth, a 404 for everything, an error, or nothing at all. */
  mode: 'answers' | 'denies' | 'fails' | 'silent'
  /** Adds a schema under an id. */
  readonly add: (schema: object, schemaType?: string) => number
  readonly close: () => Promise<void>
}

/** Knows this version's schemas under `prefix` if `registered`. */
export async function fakeRegistry(prefix: string, registered = true): Promise<FakeRegistry> {
  const schemas: { schema: object; schemaType?: string }[] = []
  const ids = new Map<string, number>()
  const add = (schema: object, schemaType?: string) =>
    schemas.push({ schema, ...(schemaType === undefined ? {} : { schemaType }) })
  if (registered) for (const topic of TOPICS) ids.set(subjectOf(prefix, topic), add(SCHEMAS[topic]))
  const state: Pick<FakeRegistry, 'mode' | 'requests'> = { mode: 'answers', requests: [] }

  const answer = (method: string, path: string): [number, object] => {
    const byId = /^\/schemas\/ids\/(\d+)$/.exec(path)
    if (byId !== null) {
      const found = schemas[Number(byId[1]) - 1]
      if (found === undefined) return [404, { error_code: 40403, message: 'Schema not found' }]
      return [200, { ...found, schema: JSON.stringify(found.schema) }]
    }
    const [, subject = ''] = /^\/subjects\/([^/]+)/.exec(path) ?? []
    const id = ids.get(decodeURIComponent(subject))
    if (id === undefined) return [404, { error_code: 40401, message: 'Subject not found' }]
    return method === 'POST' || path.endsWith('/latest') ? [200, { subject, id, version: 1 }] : [404, {}]
  }
  const server: Server = createServer((request, response) => {
    const { method = '', url = '' } = request
    state.requests.push(`${method} ${url}`)
    request.resume()
    if (state.mode === 'silent') return
    const [status, body] =
      state.mode === 'answers' ? answer(method, url) : [state.mode === 'denies' ? 404 : 503, { message: 'no' }]
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { prepare, send } from '../../src/gateway/answer.ts'
import type { Answer } from '../../src/providers/provider.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { post } from '../helpers/http.ts'

/** What others met, by the public report of it: what a provider really reads off the wire. */
describe('RSP-03 yansongda/pay#685: what stands in the answer is what is sent, and no {} or nothing in its place', () => {
  let answer: Answer | undefined
  const server = createServer((_request, response) => {
    if (answer !== undefined) send(response, prepare(answer), false)
  })
  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })
  afterAll(() => server.close())

  test.each([...PROVIDERS])('%s', async (_name, { answers }) => {
    const request = { path: '/', headers: {}, rawBody: Buffer.from('x') }
    for (answer of [
      answers.success,
      answers.refusal({ kind: 'bad_signature' }),
      answers.refusal({ kind: 'internal' }),
    ]) {
      const { status, headers, body } = await post((server.address() as AddressInfo).port, request)
      expect([status, body.toString()]).toEqual([answer.status, answer.body])
      expect(headers).toMatchObject({
        'content-type': answer.contentType,
        'content-length': String(Buffer.byteLength(answer.body)),
      })
      expect(['', '{}', 'null', '"success"']).not.toContain(body.toString())
    }
  })
})

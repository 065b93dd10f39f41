import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createAlipayAskBill } from '../../src/providers/alipay/ask-bill.ts'
import { signAnswer } from '../../src/providers/alipay/sign.ts'
import { createAgents, createQueryHttp } from '../../src/providers/query-http.ts'
import { createRateLimit } from '../../src/providers/rate-limit.ts'
import { systemClock } from '../../src/runtime/clock.ts'

const METHOD = 'alipay.data.dataservice.bill.downloadurl.query'
const [theirs, ours] = [
  generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  generateKeyPairSync('rsa', { modulusLength: 2_048 }),
]

test.for([
  // As Alipay's own sample has it.
  [
    'http://dwbillcenter.alipay.com/downloadBillFile.resource?fileId=X',
    'https://dwbillcenter.alipay.com/downloadBillFile.resource?fileId=X',
  ],
  ['https://dwbillcenter.alipay.com/a?b=c', 'https://dwbillcenter.alipay.com/a?b=c'],
  ['ftp://dwbillcenter.alipay.com/a', undefined],
  ['https://user:secret@example.com/a', undefined],
  ['file:///etc/passwd', undefined],
  [17, undefined],
] as const)('a bill at %s is fetched over TLS or not at all', async ([address, wanted]) => {
  const answer = signAnswer(METHOD, { code: '10000', bill_download_url: address }, theirs.privateKey)
  const server = createServer((_request, response) => response.end(answer)).listen(0)
  await once(server, 'listening')
  const agents = createAgents()
  const baseUrl = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const ask = createAlipayAskBill(
    {
      ...{
        keys: [{ id: 'alipay', key: theirs.publicKey, certSn: null, validToMs: Infinity }],
        sellerIds: new Set<string>(),
      },
      caller: { appId: '1', privateKey: ours.privateKey },
    },
    {
      http: createQueryHttp({ baseUrl, timeoutMs: 10_000, bodyBytesMax: 65_536, agents }),
      ...{ limit: createRateLimit(10, systemClock), clock: systemClock },
    },
  )
  const place = await ask('2026-11-11', new AbortController().signal)
  expect(place.kind === 'ready' ? place.url.href : place).toEqual(
    wanted ?? { kind: 'refused', reason: 'malformed', field: 'bill_download_url' },
  )
  agents['http:'].destroy()
  server.close()
})

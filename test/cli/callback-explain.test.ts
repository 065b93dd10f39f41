import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMerchant, type SignedCallback, type TestMerchant } from '../helpers/merchant.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

let shop: TestMerchant
let secrets: string[]
beforeAll(() => {
  shop = createMerchant()
  const contents = readdirSync(shop.dir).map((name) => [name, readFileSync(join(shop.dir, name), 'utf8')] as const)
  secrets = contents.filter(([name]) => name.endsWith('.key')).map(([, content]) => content.trim())
  expect(secrets.length).toBeGreaterThan(1)
})
afterAll(() => shop.remove())

function saved(
  { path, headers, rawBody }: SignedCallback,
  change: { path?: string; more?: Record<string, string>; body?: Buffer | string } = {},
) {
  const lines = Object.entries({ ...headers, ...change.more }).map(([name, value]) => `${name}: ${value}`)
  const file = join(shop.dir, 'request.http')
  const head = Buffer.from([`POST ${change.path ?? path} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
  writeFileSync(file, Buffer.concat([head, Buffer.from(change.body ?? rawBody)]))
  return file
}
const env = () => ({ MERCHANTS_DIR: shop.dir })
const explain = (file: string, ...more: string[]) => paidonceJson(['callback', 'explain', file, ...more], env())

test('verified: exit 0', async () => {
  const { code, json } = await explain(saved(shop.wechatpay('T1')))
  expect([code, json]).toMatchObject([
    0,
    { verdict: { kind: 'verified' }, causes: [], provider: 'wechatpay', merchant: 'shop1' },
  ])
})

test('a proxy that printed the JSON again: exit 1, in words', async () => {
  const callback = shop.wechatpay('T2')
  const body = JSON.stringify(JSON.parse(callback.rawBody.toString()), null, 2)
  const file = saved(callback, { body })
  const { code, json } = await explain(file)
  expect([code, json]).toMatchObject([
    1,
    { causes: [{ fault: 'json_reprinted' }], before: { verdict: { kind: 'verified' } } },
  ])
  const { stdout } = await paidonce(['callback', 'explain', file], env())
  for (const words of [
    'refused: bad_signature',
    'The JSON was parsed and printed again.',
    'to do',
    'PUB_KEY_ID_0100000000000000000000000000000001',
    'made it before the change',
    'With that undone',
    '\\n{\\n  "id"',
  ])
    expect(stdout).toContain(words)
})

test('parameters of the address are read from the request line', async () => {
  const callback = shop.alipay('T3')
  const file = saved(callback, { path: `${callback.path}?tenant=7`, body: `${callback.rawBody.toString()}&tenant=7` })
  expect(await explain(file)).toMatchObject({ code: 1, json: { causes: [{ fault: 'query_merged', how: 'tenant' }] } })
})

test('an old request is stale, and verified as of its own time', async () => {
  const at = new Date('2026-01-02T03:04:05Z')
  const file = saved(shop.wechatpay('T4', {}, at))
  expect(await explain(file)).toMatchObject({
    code: 1,
    json: { causes: [{ fault: 'stale' }], signedAt: at.toISOString() },
  })
  expect(await explain(file, '--at', '2026-01-02T03:05:00Z')).toMatchObject({ code: 0 })
})

test('what nothing explains: exit 3', async () => {
  const callback = shop.worker('T5')
  const { code, json } = await explain(saved(callback, { body: callback.rawBody.toString().replace('T5', 'T6') }))
  expect([code, json]).toMatchObject([3, { causes: [], before: null }])
})

test('a file that cannot be judged: exit 2', async () => {
  for (const file of [join(shop.dir, 'nothing'), saved(shop.worker('T6'), { path: '/' })]) {
    const { code } = await paidonce(['callback', 'explain', file], env())
    expect(code).toBe(2)
  }
  const large = saved(shop.worker('T7'), { body: Buffer.alloc(1_048_577) })
  expect(await paidonce(['callback', 'explain', large], env())).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('more than') as string,
  })
})

test.each(['table', 'json'])(
  'no character that a terminal obeys is printed: %s',
  async (output) => {
    const nasty = '\u001b]0;x\u0007\u009b2J\u00ad'
    const more = { 'content-length': nasty }
    const callback = shop.worker('T11')
    const file = join(shop.dir, 'request.http')
    const lines = Object.entries({ ...callback.headers, ...more }).map(([name, value]) => `${name}: ${value}`)
    const head = Buffer.from([`POST ${callback.path} HTTP/1.1`, ...lines, '', ''].join('\r\n'), 'latin1')
    writeFileSync(file, Buffer.concat([head, Buffer.from(`\u001b[2J\u061c\u{e0041}${callback.rawBody.toString()}`)]))
    const { stdout, stderr } = await paidonce(['callback', 'explain', file, '--output', output], env())
    expect(stdout).toContain('content-length says')
    // eslint-disable-next-line no-control-regex -- finding them is the purpose
    expect(`${stdout}${stderr}`).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u{e0041}]/u)
  },
  60_000,
)

test('no secret is printed, not even one that is in the request', async () => {
  const pasted = secrets.join(' ')
  const changes = (rawBody: Buffer) => [
    { body: `${pasted} ${rawBody.toString()}` },
    { body: `${rawBody.toString()}&key=${pasted}` },
    // The middle is left out from character 1,500 on: in the middle of one.
    { body: 'x'.repeat(1_440) + pasted + 'x'.repeat(2_000) },
    { more: { 'wechatpay-serial': secrets[0] ?? '', 'webhook-id': secrets[1] ?? '' } },
  ]
  for (const callback of [shop.wechatpay('T8'), shop.alipay('T9'), shop.worker('T10')])
    for (const [turn, change] of changes(callback.rawBody).entries()) {
      const output = turn % 2 === 0 ? 'table' : 'json'
      const { stdout, stderr } = await paidonce(
        ['callback', 'explain', saved(callback, change), '--output', output],
        env(),
      )
      expect(stdout).not.toBe('')
      for (const secret of secrets.flatMap((text) => [text, text.replace('whsec_', '')]))
        for (const part of [secret, secret.slice(0, 20), secret.slice(-20)])
          expect(`${stdout}${stderr}`).not.toContain(part)
    }
}, 120_000)

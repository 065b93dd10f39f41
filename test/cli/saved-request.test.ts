import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseSavedRequest } from '../../src/cli/saved-request.ts'
import { createMerchant, type SignedCallback, type TestMerchant } from '../helpers/merchant.ts'
import { paidonce, paidonceJson } from './paidonce.ts'

let shop: TestMerchant
beforeAll(() => {
  shop = createMerchant()
})
afterAll(() => shop.remove())

const onTheWire = ({ path, headers, rawBody }: SignedCallback, lineEnd = '\r\n') =>
  Buffer.concat([
    Buffer.from(
      [`POST ${path} HTTP/1.1`, ...Object.entries(headers).map(([n, v]) => `${n}: ${v}`), '', ''].join(lineEnd),
    ),
    rawBody,
  ])
function saved(bytes: Buffer) {
  const file = join(shop.dir, 'request.http')
  writeFileSync(file, bytes)
  return file
}
const verify = (file: string, ...more: string[]) =>
  paidonceJson(['callback', 'verify', file, ...more], { MERCHANTS_DIR: shop.dir })

test.each(['wechatpay', 'alipay', 'worker'] as const)('a genuine request of %s is verified', async (provider) => {
  const { code, json } = await verify(saved(onTheWire(shop[provider]('T1'))))
  expect(code).toBe(0)
  expect(json).toMatchObject({ provider, merchant: 'shop1', kind: 'verified', messages: [{ outTradeNo: 'T1' }] })
})

test('one changed byte: exit 1 and the reason', async () => {
  const bytes = onTheWire(shop.wechatpay('T2'))
  const at = bytes.lastIndexOf('}') - 2
  bytes[at] = (bytes[at] ?? 0) ^ 1
  const { code, json } = await verify(saved(bytes))
  expect([code, json]).toMatchObject([1, { kind: 'refused', rejection: { kind: 'bad_signature' } }])
})

test('an old request is stale, unless it is judged as of its own time', async () => {
  const at = new Date('2026-01-02T03:04:05Z')
  const file = saved(onTheWire(shop.wechatpay('T3', {}, at)))
  expect(await verify(file)).toMatchObject({ code: 1, json: { rejection: { kind: 'stale' } } })
  expect(await verify(file, '--at', '2026-01-02T03:05:00Z')).toMatchObject({ code: 0 })
})

test('saved with bare line feeds, and without a request line', async () => {
  expect(await verify(saved(onTheWire(shop.worker('T4'), '\n')))).toMatchObject({ code: 0 })
  const bytes = onTheWire(shop.worker('T5'))
  const file = saved(bytes.subarray(bytes.indexOf('\r\n') + 2))
  expect(await verify(file, '--provider', 'worker', '--merchant', 'shop1')).toMatchObject({ code: 0 })
  const { code, stderr } = await paidonce(['callback', 'verify', file], { MERCHANTS_DIR: shop.dir })
  expect([code, stderr]).toEqual([2, expect.stringContaining('Add --provider and --merchant')])
})

test('what cannot be judged says why', async () => {
  const env = { MERCHANTS_DIR: shop.dir }
  const wrong = async (...args: string[]) => {
    const { code, stderr } = await paidonce(['callback', 'verify', ...args], env)
    return [code, stderr]
  }
  expect(await wrong(join(shop.dir, 'nothing'))).toEqual([2, expect.stringContaining('(ENOENT)')])
  expect(await wrong(saved(Buffer.from('POST /x')))).toEqual([2, expect.stringContaining('no empty line')])
  expect(await wrong(saved(Buffer.from('POST / HTTP/1.1\r\nnot a header\r\n\r\n')))).toEqual([
    2,
    expect.stringContaining('no header in line 2'),
  ])
  const file = saved(onTheWire(shop.worker('T6')))
  expect(await wrong(file, '--merchant', 'other')).toEqual([2, expect.stringContaining('other has no worker')])
  rmSync(file)
})

test('headers sent twice are kept apart, the body is kept to the byte', () => {
  const body = Buffer.from([0x00, 0xff, 0x0d, 0x0a, 0x0d, 0x0a])
  const bytes = Buffer.concat([Buffer.from('A: 1\r\nb:  x \r\nA: 2\r\n\r\n'), body])
  expect(parseSavedRequest(bytes)).toEqual({
    kind: 'request',
    request: { headers: { b: 'x' }, repeatedHeaders: ['a'], rawBody: body },
    path: undefined,
    query: '',
    repeated: new Map([['a', ['1', '2']]]),
  })
})

const HEAD = 'POST /callbacks/worker/shop1 HTTP/1.1\r\n'
test.each([
  ['a line of spaces alone', `${HEAD}x: a${' '.repeat(65_000)}b\n\nx`, 'request'],
  ['more than 256 lines', `${HEAD}${'a:\n'.repeat(256)}\n\nx`, 'has more than 256 lines before its body'],
  ['60,000 lines', `${HEAD}${'a:\n'.repeat(60_000)}\n\nx`, 'has no empty line in its first 65536 bytes'],
  ['a head of more than 64 KiB', `${HEAD}a: ${'b'.repeat(65_536)}\n\nx`, 'has no empty line in its first 65536 bytes'],
  ['a body of more than 1 MiB', `${HEAD}\n\n${'x'.repeat(1_048_577)}`, 'has a body of more than 1048576 bytes'],
  ['the longest body', `${HEAD}a: b\n\n${'x'.repeat(1_048_576)}`, 'request'],
  ['the most lines', `${HEAD}${'a:\n'.repeat(255)}\nx`, 'request'],
  ['a carriage return within', `${HEAD}a: b\rc: d\n\nx`, 'has no header in line 2'],
])('%s is read, or refused, at once', (_, text, expected) => {
  const startedMs = performance.now()
  const parsed = parseSavedRequest(Buffer.from(text))
  expect(parsed.kind === 'request' ? 'request' : parsed.detail).toContain(expected)
  // A line of 100,000 spaces took 13 s, 60,000 lines of one name 48 s.
  expect(performance.now() - startedMs).toBeLessThan(500)
})

test('a pipe and a device are refused, and nobody waits for them', async () => {
  const pipe = join(shop.dir, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const file of [pipe, '/dev/zero', shop.dir]) {
    const { code, stderr } = await paidonce(['callback', 'verify', file], { MERCHANTS_DIR: shop.dir })
    expect([code, stderr]).toEqual([2, expect.stringContaining('is no regular file')])
  }
}, 20_000)

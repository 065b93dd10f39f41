import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { configFiles } from '../../src/providers/config-files.ts'
import { apiKey } from '../../src/providers/wechatpay-v2/api-key.ts'
import { wechatpayV2Config, type WechatpayV2Config } from '../../src/providers/wechatpay-v2/config.ts'
import { createWechatpayV2 } from '../../src/providers/wechatpay-v2/create.ts'
import { APPID, MCHID, message, notice, NOW, payment } from './wechatpay-v2-subject.ts'

const SECRET = '0123456789abcdef0123456789ABCDEF'
let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'wechatpay-v2-'))
  const write = (name: string, content: string) => writeFileSync(join(directory, name), content)
  write('api.key', `${SECRET}\n`)
  write('old.key', 'f'.repeat(32))
  write('short.key', SECRET.slice(1))
  write('long.key', `${SECRET} `)
})
afterEach(() => rmSync(directory, { recursive: true }))

const section = { mchid: MCHID, appids: [APPID], apiKeyFiles: ['api.key'] }
const parse = (change: object = {}) => wechatpayV2Config(configFiles(directory)).safeParse({ ...section, ...change })
const configOf = (change: object = {}): WechatpayV2Config => {
  const parsed = parse(change)
  if (parsed.success) return parsed.data
  throw parsed.error
}
const problemsOf = (change: object) =>
  (parse(change).error?.issues ?? []).map(({ path, message: said }) => `${path.join('.')}: ${said}`)

describe("a merchant's section for WeChat Pay v2", () => {
  test('takes HMAC-SHA256 alone unless it says otherwise, and a merchant of its own', () => {
    const config = configOf()
    expect(config.signTypes).toEqual(new Set(['HMAC-SHA256']))
    expect(config.subMchids).toEqual(new Set())
    expect(createWechatpayV2(config).verify(notice(), NOW)).toEqual({ kind: 'verified', messages: [message] })
    expect(configOf({ signTypes: ['MD5', 'HMAC-SHA256'] }).signTypes).toEqual(new Set(['MD5', 'HMAC-SHA256']))
  })

  test('a key has an end, after which it verifies nothing', () => {
    const validUntil = '2024-05-20T13:29:36+08:00'
    const changing = createWechatpayV2(configOf({ apiKeyFiles: ['api.key', { file: 'old.key', validUntil }] }))
    const byOld = notice(payment, apiKey('f'.repeat(32)))
    expect(changing.verify(byOld, NOW).kind).toBe('verified')
    const after = new Date(NOW.getTime() + 1)
    expect(changing.verify(byOld, after)).toEqual({ kind: 'refused', rejection: { kind: 'bad_signature' } })
    expect(changing.verify(notice(), after).kind).toBe('verified')
    expect(changing.inspect.keys.map(({ validToMs }) => validToMs)).toEqual([Infinity, Date.parse(validUntil)])
  })

  test.for([
    ['mchid: must be the merchant number', { mchid: 'x' }],
    ['appids: Too small', { appids: [] }],
    ['appids.0: must be wx', { appids: ['2021000000000001'] }],
    ['subMchids.0: must be the merchant number', { subMchids: ['1'] }],
    [': names subAppids', { subAppids: [APPID] }],
    ['apiKeyFiles: Too small', { apiKeyFiles: [] }],
    ['apiKeyFiles: Too big', { apiKeyFiles: Array.from({ length: 5 }, () => 'api.key') }],
    ['apiKeyFiles.0', { apiKeyFiles: ['short.key'] }],
    ['apiKeyFiles.0', { apiKeyFiles: ['long.key'] }],
    ['apiKeyFiles.0', { apiKeyFiles: ['absent.key'] }],
    ['apiKeyFiles.0', { apiKeyFiles: [{ file: 'api.key', validUntil: 'soon' }] }],
    ['signTypes.0: ', { signTypes: ['RSA'] }],
    ['signTypes: Too small', { signTypes: [] }],
    [': Unrecognized key', { apiKey: SECRET }],
  ] as const)('%s', ([expected, change]) => {
    const problems = problemsOf(change)
    expect(problems.some((problem) => problem.startsWith(expected))).toBe(true)
    expect(problems.join()).not.toContain(SECRET)
  })

  test('no secret is in what is printed of it', () => {
    const config = configOf()
    const printed = `${inspect(config, { depth: 9 })}${JSON.stringify(config)}${inspect(createWechatpayV2(config), { depth: 9 })}`
    const md5 = config.apiKeys[0]?.refundKey.export().toString() ?? ''
    expect(md5).toHaveLength(32)
    for (const secret of [SECRET, md5, Buffer.from(SECRET).toString('hex')]) expect(printed).not.toContain(secret)
  })
})

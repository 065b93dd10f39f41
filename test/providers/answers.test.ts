import { describe, expect, test } from 'vitest'
import type { GatewayRejection, Rejection } from '../../src/providers/provider.ts'
import { REFUSAL_STATUS } from '../../src/providers/refusal-status.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'

const rejections: readonly (Rejection | GatewayRejection)[] = [
  { kind: 'missing_header', header: 'secret-header' },
  { kind: 'repeated_header', header: 'secret-header' },
  { kind: 'malformed', field: 'secret-field', detail: 'secret-detail' },
  { kind: 'stale', ageSec: 4711 },
  { kind: 'unknown_key', keyId: 'secret-key' },
  { kind: 'bad_signature' },
  { kind: 'signature_probe' },
  { kind: 'undecryptable' },
  { kind: 'wrong_recipient', field: 'secret-field' },
  { kind: 'unknown_provider' },
  { kind: 'unknown_merchant' },
  { kind: 'too_large' },
  { kind: 'incomplete_body' },
  { kind: 'overloaded' },
  { kind: 'broker_unavailable' },
  { kind: 'internal' },
]

test.for([
  ['wechatpay', 200, 'application/json', Buffer.from('{"code":"SUCCESS","message":"成功"}')],
  [
    'wechatpay-v2',
    200,
    'text/xml',
    Buffer.from('<xml><return_code><![CDATA[SUCCESS]]></return_code><return_msg><![CDATA[OK]]></return_msg></xml>'),
  ],
  ['alipay', 200, 'text/plain', Buffer.from([0x73, 0x75, 0x63, 0x63, 0x65, 0x73, 0x73])],
  ['stripe', 200, 'application/json', Buffer.from('{"received":true}')],
  ['standard-webhooks', 200, 'application/json', Buffer.from('{"accepted":true}')],
  ['worker', 200, 'application/json', Buffer.from('{"accepted":true}')],
] as const)('%s is told success in exactly its form', ([name, status, contentType, bytes]) => {
  const success = PROVIDERS.get(name)?.answers.success
  expect(success).toMatchObject({ status, contentType })
  expect(Buffer.from(success?.body ?? '')).toEqual(bytes)
})

test('WeChat Pay gets an object after exactly one parse', () => {
  const { success, refusal } = PROVIDERS.get('wechatpay')?.answers ?? {}
  expect(JSON.parse(success?.body ?? '')).toEqual({ code: 'SUCCESS', message: '成功' })
  expect(JSON.parse(refusal?.({ kind: 'internal' }).body ?? '')).toMatchObject({ code: 'FAIL' })
})

describe.for([...PROVIDERS])('%s refuses', ([name, { answers }]) => {
  test('every kind of rejection is tried here', () =>
    expect(rejections.map(({ kind }) => kind).sort()).toEqual(Object.keys(REFUSAL_STATUS).sort()))

  test.for(rejections)('$kind with a status that is no success and a body that tells nothing', (rejection) => {
    const answer = answers.refusal(rejection)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.body).toBe(answers.refusal({ kind: 'bad_signature' }).body)
    expect(answer.body).not.toMatch(/secret|4711|success/i)
    expect(name === 'alipay' ? answer.body : 'fail').toBe('fail')
  })

  test('what is our own trouble with 5xx, so that it comes again', () => {
    const ours = ['unknown_key', 'undecryptable', 'overloaded', 'broker_unavailable', 'internal'] as const
    for (const kind of ours)
      expect(answers.refusal(kind === 'unknown_key' ? { kind, keyId: 'k' } : { kind }).status).toBeGreaterThanOrEqual(
        500,
      )
    for (const kind of ['bad_signature', 'signature_probe'] as const) expect(answers.refusal({ kind }).status).toBe(401)
  })
})

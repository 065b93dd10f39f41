import { randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { notice, NOW, provider } from '../providers/wechatpay-subject.ts'

// https://github.com/minibear2021/wechatpayv3/issues/9
test('CRT-04: a serial that nobody knows, and then the next, starts no download that would start another', () => {
  const connect = vi.spyOn(Socket.prototype, 'connect')
  const fetched = vi.spyOn(globalThis, 'fetch')
  try {
    const { headers, ...request } = notice()
    const serials = Array.from({ length: 200 }, () => randomBytes(20).toString('hex').toUpperCase())
    for (const serial of serials) {
      const verdict = provider.verify({ ...request, headers: { ...headers, 'wechatpay-serial': serial } }, NOW)
      // Not for ever: it comes again, and by then somebody may have added the key.
      expect(verdict).toMatchObject({ kind: 'refused', rejection: { kind: 'unknown_key' } })
    }
    expect([connect.mock.calls, fetched.mock.calls]).toEqual([[], []])
  } finally {
    vi.restoreAllMocks()
  }
})

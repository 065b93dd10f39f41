import { createSecretKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { CallbackRequest, Provider } from '../../src/providers/provider.ts'
import { createWorker } from '../../src/providers/worker/create.ts'
import { signReport } from '../../src/providers/worker/sign.ts'
import * as webhooks from './standard-webhooks-subject.ts'
import * as stripe from './stripe-subject.ts'
import * as wechatpay from './wechatpay-subject.ts'

const secret = createSecretKey(Buffer.alloc(32, 1))
const report = {
  ...{ type: 'shipment_completed', timestamp: '2026-01-02T03:04:05Z' },
  data: { out_trade_no: 'T1', event_id: 'e-1', reference: 'SF1' },
}

/** Every provider whose requests sign the time of their sending. Alipay and WeChat Pay v2 sign none (docs/providers.md). */
const TIMED: readonly (readonly [name: string, provider: Provider, request: CallbackRequest, signedAt: Date])[] = [
  ['wechatpay', wechatpay.provider, wechatpay.notice(), wechatpay.NOW],
  ['stripe', stripe.provider, stripe.signed(stripe.eventOf('payment_intent.succeeded', stripe.intent)), stripe.NOW],
  ['standard-webhooks', webhooks.provider, webhooks.signed(webhooks.payment), webhooks.NOW],
  [
    'worker',
    createWorker({ secrets: [{ value: secret, validToMs: Infinity }] }),
    { ...signReport(report, 'r-1', [secret], webhooks.NOW), repeatedHeaders: [] },
    webhooks.NOW,
  ],
]

describe('CLK-03: what was signed in the future is as stale as what was signed long ago', () => {
  test.each(TIMED)('%s', (_name, provider, request, signedAt) => {
    const judged = (laterSec: number) => {
      const verdict = provider.verify(request, new Date(signedAt.getTime() + laterSec * 1_000))
      return verdict.kind === 'refused' ? verdict.rejection : verdict.kind
    }
    expect([-300, 300].map(judged)).toEqual(['verified', 'verified'])
    // A year ahead, too: no difference is taken without its sign, and none overflows.
    for (const laterSec of [-301, 301, -31_536_000, 31_536_000])
      expect(judged(laterSec)).toEqual({ kind: 'stale', ageSec: laterSec })
  })
})

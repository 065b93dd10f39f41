import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Fact } from '../../src/orders/model.ts'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { createStandardWebhooks } from '../../src/providers/standard-webhooks/create.ts'
import type { Mapping } from '../../src/providers/standard-webhooks/mapping.ts'
import { parseMapping } from '../../src/providers/standard-webhooks/parse-mapping.ts'
import { signWebhook } from '../../src/providers/standard-webhooks/sign.ts'

export const NOW = new Date('2026-01-02T03:04:05Z')
export const secret = createSecretKey(Buffer.alloc(32, 1))
export const newer = createSecretKey(Buffer.alloc(32, 2))
export const stranger = createSecretKey(Buffer.alloc(32, 3))
/** Signs `v1a`; the receiver holds its public half. */
export const ed25519 = generateKeyPairSync('ed25519')

/** The example that the documentation shows. */
export const EXAMPLE = readFileSync(
  join(import.meta.dirname, '../../docs/examples/standard-webhooks.mapping.json'),
  'utf8',
)
export function mappingOf(file: object | string): Mapping {
  const parsed = parseMapping(typeof file === 'string' ? file : JSON.stringify(file))
  if (parsed.kind === 'mapping') return parsed.mapping
  throw new Error(JSON.stringify(parsed.problems))
}
export const bound = (keys: readonly KeyObject[] = [newer, secret, ed25519.publicKey], mapping = mappingOf(EXAMPLE)) =>
  createStandardWebhooks({
    keys: keys.map((value) => ({ value, validToMs: Infinity })),
    mapping,
    prefix: 'standard-webhooks',
  })
export const provider = bound()

export const payment = {
  type: 'payment.succeeded',
  live: true,
  data: {
    merchant_id: 'm_1001',
    out_trade_no: 'T1',
    payment_id: 'P-1',
    amount: '19.90',
    currency: 'cny',
    paid_at: '2026-01-02T11:04:00.5+08:00',
    note: '会员 \u{1f600}',
  },
}
export const refund = {
  type: 'refund.succeeded',
  live: true,
  data: {
    ...{ merchant_id: 'm_1002', out_trade_no: 'T1', payment_id: 'P-1', refund_id: 'R-1', refund_cents: 500 },
    ...{ refunded_at: 1_767_323_042, reason: '不想要了' },
  },
}
export const total = {
  type: 'payment.refunded_total',
  live: true,
  data: {
    merchant_id: 'm_1001',
    payment: { id: 'P-1', out_trade_no: 'T1', amount: 19.9, paid_at: '2026-01-02T03:04:00Z' },
    ...{ currency: 'CNY', refunded_total: 5, updated_ms: 1_767_323_043_250 },
  },
}

export const signed = (
  body: object | string | Buffer,
  keys: readonly KeyObject[] = [secret],
  id = 'msg_1',
): CallbackRequest => ({ ...signWebhook(body, id, keys, NOW), repeatedHeaders: [] })
/** A message with some of its data changed; undefined takes a name away. */
export const withData = (of: { readonly data: object }, change: object) => ({ ...of, data: { ...of.data, ...change } })
export const verdictOf = (body: object | string | Buffer) => provider.verify(signed(body), NOW)
/** What a message proves. */
export function factsOf(body: object | string, by = provider): readonly Fact[] {
  const verdict = by.verify(signed(body), NOW)
  if (verdict.kind === 'verified') return verdict.messages.flatMap(({ facts }) => facts)
  throw new Error(`refused: ${JSON.stringify(verdict.rejection)}`)
}

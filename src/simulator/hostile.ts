import { gzipSync } from 'node:zlib'
import type { SignedRequest } from './delivered.ts'

type Spoil = (signed: SignedRequest) => Partial<SignedRequest>

const OVERSIZED = 70_000
const DEPTH = 10_000
const BOMB = gzipSync(Buffer.alloc(10_000_000))
const ENTITIES = `<?xml version="1.0"?><!DOCTYPE xml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]><xml><sign>&b;&f;</sign></xml>`

/** Of JSON arrays; of entities that grow, and read files; of a name given again and again: by what the body says it is. */
const DEEP: readonly (readonly [type: string, body: string])[] = [
  ['xml', ENTITIES],
  ['form', 'sign=1&'.repeat(DEPTH / 2)],
  ['', '['.repeat(DEPTH)],
]

const FORMS: readonly Spoil[] = [
  ({ rawBody }) => ({ rawBody: Buffer.concat([rawBody, Buffer.alloc(OVERSIZED, ' ')]) }),
  ({ headers }) => ({ headers: { ...headers, 'content-encoding': 'gzip' }, rawBody: BOMB }),
  ({ headers }) => {
    const [, body = ''] = DEEP.find(([type]) => (headers['content-type'] ?? '').includes(type)) ?? []
    return { rawBody: Buffer.from(body) }
  },
  () => ({ rawBody: Buffer.from(Array.from({ length: 1_024 }, (_, n) => n % 256)) }),
  ({ headers }) => ({ headers: { 'content-type': headers['content-type'] ?? '' }, rawBody: Buffer.alloc(0) }),
]

/** A genuine request with its body spoiled to hurt whoever reads it; in which way, the message's id decides. */
export function hostile(signed: SignedRequest, messageId: string): SignedRequest {
  const form = FORMS[Number.parseInt(messageId.slice(-4), 16) % FORMS.length]
  return { ...signed, ...form?.(signed) }
}

import { createHash, X509Certificate } from 'node:crypto'
import type { Callback } from './avro.ts'
import type { Key } from './merchants.ts'

/** What is to be proven of a message with openssl: one of `attempts` must hold. */
export type Check =
  | { readonly kind: 'signed'; readonly attempts: readonly Attempt[] }
  /** Nothing signs it: a refund notice of WeChat Pay v2. It may only have been a hint. */
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'broken'; readonly why: string }

export type Attempt =
  | { readonly kind: 'hmac'; readonly hexKey: string; readonly message: Buffer; readonly expected: string }
  | {
      readonly kind: 'rsa' | 'ed25519'
      readonly publicPem: string
      readonly message: Buffer
      readonly signature: Buffer
    }

type Sections = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** What was signed and by whom, as each provider's documents say it (docs/providers.md names them). */
export function checkOf(callback: Callback, merchants: Readonly<Record<string, unknown>>): Check {
  const sections = merchants[callback.merchant] as Sections | undefined
  const section = sections?.[callback.provider]
  if (section === undefined) return broken(`${callback.merchant} has no ${callback.provider}`)
  const isAnswer = callback.source === 'query'
  const signedMs = callback.receivedAtMs - (isAnswer ? ANSWER_AGE_MS_MAX : 0)
  const valid = (name: string) => keysIn(section[name]).filter(({ untilMs }) => untilMs >= signedMs)
  if (isAnswer && callback.provider === 'alipay') return alipayAnswer(callback, valid('publicKeyFiles'))
  // Nothing signs them: that they are Stripe's its TLS certificate says.
  if (isAnswer && callback.provider === 'stripe') return { kind: 'unsigned' }
  switch (callback.provider) {
    case 'wechatpay':
      return wechatpay(callback, section)
    case 'wechatpay-v2':
      return wechatpayV2(callback, valid('apiKeyFiles'))
    case 'alipay':
      return alipay(callback, valid('publicKeyFiles'))
    case 'stripe':
      return stripe(callback, valid('secretFiles'))
    case 'worker':
      return webhook(callback, valid('secretFiles'))
    case 'standard-webhooks':
      return webhook(callback, valid('keyFiles'))
    default:
      return broken(`nobody knows how ${callback.provider} signs`)
  }
}

/** An answer lies with whoever asked until all have answered, and with one that is stopped for longer. */
const ANSWER_AGE_MS_MAX = 30_000

const broken = (why: string): Check => ({ kind: 'broken', why })
const signed = (attempts: readonly Attempt[]): Check =>
  attempts.length === 0 ? broken('no key was valid') : { kind: 'signed', attempts }
const keysIn = (value: unknown): Key[] =>
  Array.isArray(value)
    ? value.filter((one): one is Key => typeof one === 'object' && one !== null && 'text' in one)
    : []
const hexOf = (bytes: Buffer | string) => Buffer.from(bytes).toString('hex')

/** `timestamp\nnonce\nbody\n`, by the platform key whose serial is named. */
function wechatpay({ rawHeaders, rawBody }: Callback, section: Readonly<Record<string, unknown>>): Check {
  const header = (name: string) => rawHeaders[`wechatpay-${name}`] ?? ''
  const message = Buffer.concat([
    Buffer.from(`${header('timestamp')}\n${header('nonce')}\n`),
    rawBody,
    Buffer.from('\n'),
  ])
  const certificates = ((section['platformCertificates'] ?? []) as { certificateFile: Key }[]).flatMap(
    ({ certificateFile }) => {
      const certificate = new X509Certificate(certificateFile.text)
      const pem = certificate.publicKey.export({ type: 'spki', format: 'pem' }).toString()
      return certificate.serialNumber.toUpperCase() === header('serial').toUpperCase() ? [pem] : []
    },
  )
  const bare = ((section['publicKeys'] ?? []) as { publicKeyId: string; publicKeyFile: Key }[]).flatMap(
    ({ publicKeyId, publicKeyFile }) => (publicKeyId === header('serial') ? [publicKeyFile.text] : []),
  )
  const signature = Buffer.from(header('signature'), 'base64')
  return signed([...certificates, ...bare].map((publicPem) => ({ kind: 'rsa', publicPem, message, signature })))
}

/** `k=v&…&key=KEY` in ASCII order, without `sign` and what is empty. */
function wechatpayV2({ rawBody }: Callback, keys: readonly Key[]): Check {
  const fields = [...rawBody.toString('utf8').matchAll(/<(\w+)>(?:<!\[CDATA\[([\s\S]*?)\]\]>|([^<]*))<\/\1>/g)].map(
    ([, name = '', cdata, plain]): [string, string] => [name, cdata ?? plain ?? ''],
  )
  const sign = fields.find(([name]) => name === 'sign')?.[1]
  if (sign === undefined) return fields.some(([name]) => name === 'req_info') ? { kind: 'unsigned' } : broken('no sign')
  const content = fields
    .filter(([name, value]) => name !== 'sign' && value !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
  if (sign.length === 32) {
    // As `openssl md5` would tell; the key is part of the text, so that a hash is all there is to it.
    const isRight = keys.some(
      ({ text }) => createHash('md5').update(`${content}&key=${text}`).digest('hex').toUpperCase() === sign,
    )
    return isRight ? { kind: 'signed', attempts: [] } : broken('MD5 differs')
  }
  return signed(
    keys.map(({ text }) => ({
      ...{ kind: 'hmac', hexKey: hexOf(text), message: Buffer.from(`${content}&key=${text}`) },
      expected: sign.toLowerCase(),
    })),
  )
}

/** `k=v&…` in ASCII order of the decoded form, without `sign` and `sign_type`, in the form's own charset. */
function alipay({ rawBody }: Callback, keys: readonly Key[]): Check {
  const fields = rawBody
    .toString('latin1')
    .split('&')
    .map((pair) => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at), decoded(pair.slice(at + 1))] as const
    })
  const sign = fields.find(([name]) => name === 'sign')?.[1]
  if (sign === undefined) return broken('no sign')
  const content = fields
    .filter(([name]) => name !== 'sign' && name !== 'sign_type')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
  const [message, signature] = [Buffer.from(content, 'latin1'), Buffer.from(sign, 'base64')]
  return signed(keys.map(({ text }) => ({ kind: 'rsa', publicPem: text, message, signature })))
}

/** The text of the answer's object as it lies in the body, between its name and the signature. */
function alipayAnswer({ rawBody }: Callback, keys: readonly Key[]): Check {
  const text = rawBody.toString('utf8')
  const [, content] = /^\s*\{\s*"\w+_response"\s*:\s*(\{[\s\S]*\})\s*,\s*"(?:alipay_cert_sn|sign)"/.exec(text) ?? []
  const sign = (JSON.parse(text) as { sign?: unknown }).sign
  if (content === undefined || typeof sign !== 'string') return broken('no sign')
  const [message, signature] = [Buffer.from(content), Buffer.from(sign, 'base64')]
  return signed(keys.map(({ text: publicPem }) => ({ kind: 'rsa', publicPem, message, signature })))
}

/** Bytes as Latin-1 text, whatever their charset. */
const decoded = (text: string) =>
  text
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** `t=…,v1=…`: HMAC of `t.body` with the whole secret. */
function stripe({ rawHeaders, rawBody }: Callback, keys: readonly Key[]): Check {
  const parts = (rawHeaders['stripe-signature'] ?? '').split(',').map((part) => part.split('=') as [string, string?])
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  const message = Buffer.concat([Buffer.from(`${time}.`), rawBody])
  const signatures = parts.flatMap(([name, value]) => (name === 'v1' && value !== undefined ? [value] : []))
  return signed(
    keys.flatMap(({ text }) =>
      signatures.map((expected): Attempt => ({ kind: 'hmac', hexKey: hexOf(text), message, expected })),
    ),
  )
}

/** Standard Webhooks: `id.timestamp.body`; `v1` is an HMAC, `v1a` ed25519. */
function webhook({ rawHeaders, rawBody }: Callback, keys: readonly Key[]): Check {
  const head = `${rawHeaders['webhook-id'] ?? ''}.${rawHeaders['webhook-timestamp'] ?? ''}.`
  const message = Buffer.concat([Buffer.from(head), rawBody])
  const given = (rawHeaders['webhook-signature'] ?? '').split(' ').map((part) => part.split(',') as [string, string?])
  return signed(
    keys.flatMap(({ text }) =>
      given.flatMap(([version, base64 = '']): Attempt[] => {
        const signature = Buffer.from(base64, 'base64')
        if (version === 'v1' && text.startsWith('whsec_')) {
          const hexKey = Buffer.from(text.slice('whsec_'.length), 'base64').toString('hex')
          return [{ kind: 'hmac', hexKey, message, expected: signature.toString('hex') }]
        }
        if (version !== 'v1a' || !text.startsWith('whpk_')) return []
        return [{ kind: 'ed25519', publicPem: ed25519Pem(text.slice('whpk_'.length)), message, signature }]
      }),
    ),
  )
}

/** RFC 8410: a fixed head before the 32 bytes. */
const ed25519Pem = (base64: string) => {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(base64, 'base64')])
  return `-----BEGIN PUBLIC KEY-----\n${der.toString('base64')}\n-----END PUBLIC KEY-----\n`
}

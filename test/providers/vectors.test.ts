import { createPublicKey, createSecretKey, verify, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { decodeSignature } from '../../src/providers/signature.ts'
import { openResource } from '../../src/providers/wechatpay/open-resource.ts'
import { verifySignature as verifyNotification } from '../../src/providers/wechatpay/verify.ts'
import { vector } from './vectors.ts'

const lowerCase = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
const request = (headers: Record<string, string>, body: string): CallbackRequest => ({
  headers: lowerCase(headers),
  repeatedHeaders: [],
  rawBody: Buffer.from(body),
})
const platformKey = (pem: string) => {
  const certificate = new X509Certificate(pem)
  return { key: certificate.publicKey, validToMs: certificate.validToDate.getTime() }
}
const BAD_SIGNATURE = { kind: 'refused', rejection: { kind: 'bad_signature' } }

interface Notification {
  now: number
  headers: Record<string, string>
  body: string
}

test('wechatpay-go: a whole notification under its platform certificate', () => {
  const v = vector('wechat-v3/go-notify-payscore') as Notification & { certificatePem: string }
  const keys = new Map([[new X509Certificate(v.certificatePem).serialNumber, platformKey(v.certificatePem)]])
  const now = new Date(v.now * 1_000)
  expect(verifyNotification(request(v.headers, v.body), keys, now)).toBeUndefined()
  expect(verifyNotification(request(v.headers, v.body.replace('3119', '3118')), keys, now)).toEqual(BAD_SIGNATURE)
  expect(verifyNotification(request(v.headers, `${v.body}\n`), keys, now)).toEqual(BAD_SIGNATURE)
  const later = { ...v.headers, 'Wechatpay-Timestamp': '1624523847' }
  expect(verifyNotification(request(later, v.body), keys, now)).toEqual(BAD_SIGNATURE)
  expect(verifyNotification(request(v.headers, v.body), keys, new Date())).toMatchObject({
    rejection: { kind: 'stale' },
  })
})

test('yansongda: escaped slashes verify as received, and fail once parsed and printed again', () => {
  const v = vector('wechat-v3/yansongda-callback-escaped-slashes') as Notification & {
    verifyKeyPem: string
    apiV3Key: string
  }
  const keys = new Map([['45F59D4DABF31918AFCEC556D5D2C6E376675D57', platformKey(v.verifyKeyPem)]])
  const now = new Date(v.now * 1_000)
  expect(verifyNotification(request(v.headers, v.body), keys, now)).toBeUndefined()
  const reprinted = JSON.stringify(JSON.parse(v.body))
  expect(verifyNotification(request(v.headers, reprinted), keys, now)).toEqual(BAD_SIGNATURE)
})

test('wechatpay-go: one signature under the certificate and under the bare public key', () => {
  const v = vector('wechat-v3/go-rsa-verify') as {
    certificatePem: string
    publicKeyPem: string
    message: string
    signature: string
    negativeMessages: string[]
  }
  const signature = decodeSignature(v.signature) ?? Buffer.alloc(0)
  for (const key of [new X509Certificate(v.certificatePem).publicKey, createPublicKey(v.publicKeyPem)]) {
    expect(verify('RSA-SHA256', Buffer.from(v.message), key, signature)).toBe(true)
    for (const other of v.negativeMessages) expect(verify('RSA-SHA256', Buffer.from(other), key, signature)).toBe(false)
  }
})

test('wechatpay-java: a signature verifies under its key, and not under the platform key of another', () => {
  const v = vector('wechat-v3/java-rsa-verify') as {
    certificatePem: string
    mustFailPublicKeyPem: string
    message: string
    signature: string
  }
  const signature = decodeSignature(v.signature) ?? Buffer.alloc(0)
  const isSignedBy = (pem: string) => verify('RSA-SHA256', Buffer.from(v.message), createPublicKey(pem), signature)
  expect(isSignedBy(v.certificatePem)).toBe(true)
  expect(isSignedBy(v.mustFailPublicKeyPem)).toBe(false)
})

/** What comes of a resource: its text is no JSON object in these vectors, which is found out only after it is opened. */
const OPENED = { kind: 'refused', rejection: { kind: 'malformed', field: 'resource' } }
const open = (resource: object, key: string) =>
  openResource(
    Buffer.from(JSON.stringify({ event_type: 'X', resource: { algorithm: 'AEAD_AES_256_GCM', ...resource } })),
    [createSecretKey(Buffer.from(key))],
  )

test('wechatpay-java: AES-256-GCM opens, and not with other associated data or another nonce', () => {
  const v = vector('wechat-v3/java-aes-gcm') as {
    key: string
    nonce: string
    associatedData: string
    ciphertext: string
    negativeAssociatedData: string[]
    negativeNonces: string[]
  }
  const opened = (nonce: string, associated_data: string) =>
    open({ nonce, associated_data, ciphertext: v.ciphertext }, v.key)
  const undecryptable = { kind: 'refused', rejection: { kind: 'undecryptable' } }
  expect(opened(v.nonce, v.associatedData)).toMatchObject(OPENED)
  for (const other of v.negativeAssociatedData) expect(opened(v.nonce, other)).toEqual(undecryptable)
  for (const other of v.negativeNonces)
    expect(opened(other, v.associatedData)).toMatchObject({
      kind: 'refused',
      rejection: other.length === 12 ? { kind: 'undecryptable' } : { kind: 'malformed', field: 'resource.nonce' },
    })
})

test('wechatpay-java: a resource that holds a certificate opens under its key alone', () => {
  const v = vector('wechat-v3/java-download-certificates') as {
    key: string
    response: { data: { encrypt_certificate: object }[] }
  }
  const resource = v.response.data[0]?.encrypt_certificate ?? {}
  expect(open(resource, v.key)).toMatchObject(OPENED)
  expect(open(resource, 'f'.repeat(32))).toMatchObject({ rejection: { kind: 'undecryptable' } })
})

test('axios plugin: a serial longer than 64 bits, and a short one, as the certificate says them', () => {
  const v = vector('wechat-v3/axios-keypair') as { serverCertificatePem: string; serverSerial: string }
  expect(new X509Certificate(v.serverCertificatePem).serialNumber).toBe(v.serverSerial)
  const java = vector('wechat-v3/java-wechatpay-keypair') as { wechatPayCertificatePem: string; serial: string }
  expect(new X509Certificate(java.wechatPayCertificatePem).serialNumber).toBe(java.serial)
})

import { createDecipheriv, createPublicKey, createSecretKey, sign, verify, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import type { CallbackRequest } from '../../src/providers/provider.ts'
import { decodeSignature } from '../../src/providers/signature.ts'
import { openResource } from '../../src/providers/wechatpay/open-resource.ts'
import { verifySignature as verifyNotification } from '../../src/providers/wechatpay/verify.ts'
import { isMerchantsOwn } from '../../src/providers/wechatpay/merchants-own.ts'
import { signRequest } from '../../src/providers/wechatpay/sign.ts'
import { otherPrivateKey, platform, platformPrivateKey, testingKey, vector } from './vectors.ts'

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
  const probe = { ...v.headers, 'Wechatpay-Signature': `WECHATPAY/SIGNTEST/${v.headers['Wechatpay-Signature'] ?? ''}` }
  expect(verifyNotification(request(probe, v.body), keys, now)).toMatchObject({
    rejection: { kind: 'signature_probe' },
  })
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

/** The bare cipher, for what our own code refuses before it gets there. */
function gcm(
  name: 'aes-128-gcm' | 'aes-256-gcm',
  key: string,
  sealed: { nonce: string; associatedData: string; ciphertext: string },
): string {
  const bytes = Buffer.from(sealed.ciphertext, 'base64')
  const decipher = createDecipheriv(name, key, sealed.nonce, { authTagLength: 16 })
  decipher.setAAD(Buffer.from(sealed.associatedData)).setAuthTag(bytes.subarray(-16))
  return decipher.update(bytes.subarray(0, -16)).toString() + decipher.final().toString()
}

/** What comes of a resource: its text is no JSON object in these vectors, which is found out only after it is opened. */
const OPENED = { kind: 'refused', rejection: { kind: 'malformed', field: 'resource' } }
const open = (resource: object, key: string) =>
  openResource(
    Buffer.from(JSON.stringify({ event_type: 'X', resource: { algorithm: 'AEAD_AES_256_GCM', ...resource } })),
    [{ value: createSecretKey(Buffer.from(key)), validToMs: Infinity }],
    new Date(),
  )

test('wechatpay-java: AES-256-GCM opens, and not with other associated data or another nonce', () => {
  const v = vector('wechat-v3/java-aes-gcm') as {
    key: string
    nonce: string
    associatedData: string
    ciphertext: string
    plaintext: string
    negativeAssociatedData: string[]
    negativeNonces: string[]
  }
  const opened = (nonce: string, associated_data: string) =>
    open({ nonce, associated_data, ciphertext: v.ciphertext }, v.key)
  const undecryptable = { kind: 'refused', rejection: { kind: 'undecryptable' } }
  expect(opened(v.nonce, v.associatedData)).toMatchObject(OPENED)
  expect(gcm('aes-256-gcm', v.key, v)).toBe(v.plaintext)
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

test('yansongda: the resource opens to a certificate, under the APIv3 key alone', () => {
  const v = vector('wechat-v3/yansongda-callback-escaped-slashes') as Notification & { apiV3Key: string }
  const { resource } = JSON.parse(v.body) as { resource: object }
  expect(open(resource, v.apiV3Key)).toMatchObject(OPENED)
  expect(open(resource, 'f'.repeat(32))).toMatchObject({ rejection: { kind: 'undecryptable' } })
})

interface Sealed {
  key: string
  nonce: string
  associatedData: string
  ciphertext: string
  plaintext: string
}

test('wechatpay-go: an APIv3 key of 16 bytes is AES-128, whatever the notice says, and none of ours', () => {
  const v = vector('wechat-v3/go-aes-gcm') as Sealed & { negativeKeys: string[] }
  expect(gcm('aes-128-gcm', v.key, v)).toBe(v.plaintext)
  for (const key of v.negativeKeys) expect(() => gcm('aes-128-gcm', key, v)).toThrow('authenticate')
  expect(() => gcm('aes-256-gcm', v.key, v)).toThrow('Invalid key length')
})

test('axios plugin: AES-256-GCM with a nonce of 16 bytes, which the cipher takes and a notice may not have', () => {
  const v = vector('wechat-v3/axios-aes-gcm') as { cases: Sealed[] }
  expect(v.cases).toHaveLength(2)
  for (const sealed of v.cases) {
    expect(gcm('aes-256-gcm', sealed.key, sealed)).toBe(sealed.plaintext)
    const { nonce, associatedData, ciphertext, key } = sealed
    const opened = open({ nonce, associated_data: associatedData, ciphertext }, key)
    expect(opened).toMatchObject({ rejection: { kind: 'malformed', field: 'resource.nonce' } })
  }
})

test("wechatpay-go: a key pair whose public half is the notice's certificate, and a real platform certificate", () => {
  const v = vector('wechat-v3/go-testing-keypair') as {
    privateKeyPemArmoured: string
    publicKeyPem: string
    tenpayCertificatePem: string
    tenpayCertificateSerial: string
  }
  const { certificatePem } = vector('wechat-v3/go-notify-payscore') as { certificatePem: string }
  const privateKey = testingKey(v.privateKeyPemArmoured)
  expect(createPublicKey(v.publicKeyPem).equals(new X509Certificate(certificatePem).publicKey)).toBe(true)
  const at = new Date('2021-06-24T08:37:26Z')
  const serial = new X509Certificate(certificatePem).serialNumber
  const signed = signRequest(Buffer.from('{}'), { serial, privateKey, apiV3Key: '' }, at)
  const keys = new Map([[serial, platformKey(certificatePem)]])
  expect(verifyNotification({ ...signed, repeatedHeaders: [] }, keys, at)).toBeUndefined()
  // A serial that begins with 0 keeps it.
  const tenpay = new X509Certificate(v.tenpayCertificatePem)
  expect(tenpay.serialNumber).toBe(v.tenpayCertificateSerial)
  expect(isMerchantsOwn(tenpay)).toBe(false)
})

test('the key pairs that sign our synthetic messages are pairs', () => {
  const message = Buffer.from('m')
  const signature = sign('RSA-SHA256', message, platformPrivateKey)
  const certificate = new X509Certificate(platform.wechatPayCertificatePem)
  for (const key of [certificate.publicKey, createPublicKey(platform.wechatPayPublicKeyPem)])
    expect(verify('RSA-SHA256', message, key, signature)).toBe(true)
  const axios = vector('wechat-v3/axios-keypair') as {
    serverCertificatePem: string
    clientCertificatePem: string
    clientSerial: string
  }
  const { publicKey } = new X509Certificate(axios.serverCertificatePem)
  expect(verify('RSA-SHA256', message, publicKey, sign('RSA-SHA256', message, otherPrivateKey))).toBe(true)
  expect(new X509Certificate(axios.clientCertificatePem).serialNumber).toBe(axios.clientSerial)
  const java = vector('wechat-v3/java-rsa-verify') as { certificatePem: string; serial: string }
  expect(new X509Certificate(java.certificatePem).serialNumber).toBe(java.serial)
})

import { createPublicKey, hash, X509Certificate, type KeyObject } from 'node:crypto'

/** Key objects by the hash of what they were made of. */
export interface KnownKeys {
  readonly publicKeys: ReadonlyMap<string, KeyObject>
  readonly certificates: ReadonlyMap<string, X509Certificate>
}

/** Makes key objects; both throw what OpenSSL throws at a content that is none. */
export interface KeyMaker {
  /** Those that were asked for. A key that is in use no more is not among them, and so is forgotten. */
  readonly keys: KnownKeys
  readonly publicKey: (content: string) => KeyObject
  readonly certificate: (content: string) => X509Certificate
}

/** Takes from the keys of the load before what is the same still: one key has one object, however often it is loaded. */
export function createKeyMaker(before?: KnownKeys): KeyMaker {
  const publicKeys = new Map<string, KeyObject>()
  const certificates = new Map<string, X509Certificate>()
  return {
    keys: { publicKeys, certificates },
    publicKey: (content) => once(content, publicKeys, before?.publicKeys, newPublicKey),
    certificate: (content) => once(content, certificates, before?.certificates, (pem) => new X509Certificate(pem)),
  }
}

function once<T>(
  content: string,
  made: Map<string, T>,
  before: ReadonlyMap<string, T> | undefined,
  make: (content: string) => T,
): T {
  const name = hash('sha256', content)
  const key = made.get(name) ?? before?.get(name) ?? make(content)
  made.set(name, key)
  return key
}

const newPublicKey = (content: string) =>
  content.includes('-----BEGIN')
    ? createPublicKey(content)
    : createPublicKey({ key: Buffer.from(content, 'base64'), format: 'der', type: 'spki' })

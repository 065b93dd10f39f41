import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

export interface RsaKey {
  readonly object: KeyObject
  readonly pem: string
  readonly publicPem: string
}

const newKeyPair = promisify(generateKeyPair)

export const pemOf = (privateKey: KeyObject) => privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** A new RSA key of 2048 bits, in the forms that files have. */
export async function newRsaKey(): Promise<RsaKey> {
  const { publicKey, privateKey } = await newKeyPair('rsa', { modulusLength: 2_048 })
  return {
    object: privateKey,
    pem: pemOf(privateKey),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  }
}

import { hash, type KeyObject } from 'node:crypto'

const HEX_DIGITS = 16

/** The first 16 hexadecimal digits of SHA-256 over a public key's DER form: tells two keys apart, and is no secret. */
export const fingerprint = (key: KeyObject): string =>
  hash('sha256', key.export({ type: 'spki', format: 'der' }), 'hex').slice(0, HEX_DIGITS)

import { createPublicKey, sign, type KeyObject } from 'node:crypto'

/** Tags of the few ASN.1 types that a certificate needs. */
const INTEGER = 0x02
const BIT_STRING = 0x03
const NULL = Buffer.from([0x05, 0])
const UTF8_STRING = 0x0c
const UTC_TIME = 0x17
const SEQUENCE = 0x30
const SET = 0x31
/** Object identifiers, encoded: 2.5.4.3 and 1.2.840.113549.1.1.11. */
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SHA256_WITH_RSA = Buffer.from('06092a864886f70d01010b', 'hex')

/**
 * A self-signed certificate in PEM form, as a platform certificate looks to whoever verifies with it. Node can read
 * certificates and not make them; X.509 version 1 (RFC 5280, 4.1) needs only this much.
 * @param serial 20 bytes, the first of them 1 to 127
 */
export function selfSigned(privateKey: KeyObject, name: string, serial: Buffer, from: Date, to: Date): string {
  const algorithm = der(SEQUENCE, SHA256_WITH_RSA, NULL)
  const subject = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(name)))))
  const validity = der(SEQUENCE, utcTime(from), utcTime(to))
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const content = der(SEQUENCE, der(INTEGER, serial), algorithm, subject, validity, subject, publicKey)
  const signature = sign('RSA-SHA256', content, privateKey)
  const certificate = der(SEQUENCE, content, algorithm, der(BIT_STRING, Buffer.from([0]), signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

/** Distinguished encoding: tag, length, content. */
function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content)
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  const bytes = length.subarray(length.findIndex((byte) => byte !== 0))
  return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length]), bytes, body])
}

/** `YYMMDDHHMMSSZ`, good until 2049. */
const utcTime = (at: Date) => der(UTC_TIME, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(2, 14)}Z`))

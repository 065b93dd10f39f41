import type { KeyObject, X509Certificate } from 'node:crypto'
import { resolve } from 'node:path'
import { z } from 'zod'
import { createKeyMaker, type KeyMaker } from './known-keys.ts'
import { createFileReader, type FileReader } from './seen-files.ts'

/** Zod shapes for what a merchant's file names by path, relative to that file. A value that cannot be read or used is
 * reported at its field; what is in it is never part of the message. */
export interface ConfigFiles {
  /** A secret: the file's content without its last line feed. */
  readonly secret: z.ZodType<string>
  /** An RSA public key of at least 2048 bits: PEM, or base64 of the DER as Alipay's console shows it. */
  readonly publicKey: z.ZodType<KeyObject>
  /** The same, or a certificate's: for a key that is only compared with, so that its end does not matter. */
  readonly anyPublicKey: z.ZodType<KeyObject>
  /** An X.509 certificate with such a key. */
  readonly certificate: z.ZodType<X509Certificate>
}

/** A key or secret with its end: after `validToMs` it verifies nothing any more. */
export interface Dated<T> {
  readonly value: T
  readonly validToMs: number
}

/**
 * A file's shape that may also be written `{ "file": …, "validUntil": "2026-12-31T00:00:00+08:00" }`. Not a union of
 * zod's: of what is wrong in either of its forms that says "Invalid input" and no more.
 */
export function dated<T>(file: z.ZodType<T>): z.ZodType<Dated<T>> {
  const bare = file.transform((value): Dated<T> => ({ value, validToMs: Infinity }))
  const withEnd = z
    .strictObject({ file, validUntil: z.iso.datetime({ offset: true }) })
    .transform(({ file: value, validUntil }): Dated<T> => ({ value, validToMs: Date.parse(validUntil) }))
  return z.unknown().transform((given, context) => {
    const parsed = (typeof given === 'object' && given !== null ? withEnd : bare).safeParse(given)
    if (parsed.success) return parsed.data
    for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path, message })
    return z.NEVER
  })
}

const RSA_BITS_MIN = 2_048
const CERTIFICATE = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/
/** OpenSSL takes one for its public key, which would verify for ever. */
const IS_CERTIFICATE =
  'holds a certificate, whose end would not be known here: name it in certificateFiles (Alipay) or in ' +
  'platformCertificates (WeChat Pay), or give the public key alone'

/**
 * @param parts what reads the files and makes the keys: given where the same directory is loaded more than once;
 *   `onSecret` hears each secret, for whoever must never print one
 */
export function configFiles(
  directory: string,
  {
    reader = createFileReader(),
    maker = createKeyMaker(),
    onSecret = () => undefined,
  }: { reader?: FileReader; maker?: KeyMaker; onSecret?: (secret: string) => void } = {},
): ConfigFiles {
  const text = z
    .string()
    .min(1)
    .transform((name, context) => {
      try {
        return reader.read(resolve(directory, name)).replace(/\r?\n$/, '')
      } catch {
        return fail(context, `cannot read the file ${name}: it must exist beside this one and be readable`)
      }
    })
  const publicKeyOf = (content: string, context: z.RefinementCtx) => {
    if (content.includes('PRIVATE KEY')) return fail(context, 'holds a private key: give the public one only')
    try {
      const key = maker.publicKey(content)
      return isStrongRsa(key) ? key : fail(context, `must hold an RSA key of at least ${RSA_BITS_MIN} bits`)
    } catch {
      return fail(context, 'must hold a public key, as PEM or as base64 of its DER form')
    }
  }
  return {
    secret: text.transform((content) => {
      onSecret(content)
      return content
    }),
    publicKey: text.transform((content, context) =>
      CERTIFICATE.test(content) ? fail(context, IS_CERTIFICATE) : publicKeyOf(content, context),
    ),
    anyPublicKey: text.transform(publicKeyOf),
    certificate: text.transform((content, context) => {
      try {
        const certificate = maker.certificate(content)
        return isStrongRsa(certificate.publicKey)
          ? certificate
          : fail(context, `must hold an RSA key of at least ${RSA_BITS_MIN} bits`)
      } catch {
        return fail(context, 'must hold an X.509 certificate in PEM form')
      }
    }),
  }
}

const isStrongRsa = (key: KeyObject) =>
  key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN

function fail(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

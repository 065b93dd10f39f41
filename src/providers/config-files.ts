import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto'
import { resolve } from 'node:path'
import { z } from 'zod'
import { createKeyMaker, type KeyMaker } from './known-keys.ts'
import { createFileReader, type FileReader } from './seen-files.ts'

/** Zod shapes for what a merchant's file names by path, relative to that file. A value that cannot be read or used is
 * reported at its field; what is in it is never part of the message. */
export interface ConfigFiles {
  /** A secret: the file's content without its last line feed; no control characters, and not spaces alone. */
  readonly secret: z.ZodType<string>
  /** A file that is no secret: as it is, without its last line feed. */
  readonly text: z.ZodType<string>
  /** An RSA public key of at least 2048 bits with an odd exponent above 1: PEM, or base64 of the DER as Alipay's console shows it. */
  readonly publicKey: z.ZodType<KeyObject>
  /** The same, or a certificate's: for a key that is only compared with, so that its end does not matter. */
  readonly anyPublicKey: z.ZodType<KeyObject>
  /** An X.509 certificate with such a key. */
  readonly certificate: z.ZodType<X509Certificate>
  /** Such a key's private part, for whoever signs requests: PEM without a passphrase, or base64 of the DER. */
  readonly privateKey: z.ZodType<KeyObject>
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
const WEAK = `must hold an RSA key of at least ${RSA_BITS_MIN} bits, with an odd exponent above 1 (65537)`
const NOT_UTF8 = 'is no UTF-8 text: give the key as text, a certificate as PEM'
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
      let content: string | undefined
      try {
        content = reader.read(resolve(directory, name))
      } catch {
        return fail(context, `cannot read the file ${name}: it must exist beside this one and be readable`)
      }
      return content?.replace(/\r?\n$/, '') ?? fail(context, NOT_UTF8)
    })
  const publicKeyOf = (content: string, context: z.RefinementCtx) => {
    if (content.includes('PRIVATE KEY')) return fail(context, 'holds a private key: give the public one only')
    try {
      const key = maker.publicKey(content)
      return isStrongRsa(key) ? key : fail(context, WEAK)
    } catch {
      return fail(context, 'must hold a public key, as PEM or as base64 of its DER form')
    }
  }
  return {
    secret: text.transform((content, context) => {
      onSecret(content)
      if (/[\p{C}\ufffd]/u.test(content))
        return fail(context, 'holds a control character, U+FFFD or a second line: give the key alone')
      return content.trim() === '' ? fail(context, 'holds no key, only spaces or nothing') : content
    }),
    text,
    publicKey: text.transform((content, context) =>
      CERTIFICATE.test(content) ? fail(context, IS_CERTIFICATE) : publicKeyOf(content, context),
    ),
    anyPublicKey: text.transform(publicKeyOf),
    certificate: text.transform((content, context) => {
      try {
        const certificate = maker.certificate(content)
        return isStrongRsa(certificate.publicKey) ? certificate : fail(context, WEAK)
      } catch {
        return fail(context, 'must hold an X.509 certificate in PEM form')
      }
    }),
    privateKey: text.transform((content, context) => {
      onSecret(content)
      const key = newPrivateKey(content)
      if (key === undefined) return fail(context, 'must hold a private key, as PEM or as base64 of its DER form')
      return isStrongRsa(key) ? key : fail(context, WEAK)
    }),
  }
}

/** Alipay's tool shows both forms of DER, without saying which. What OpenSSL throws may hold a part of the text. */
function newPrivateKey(content: string): KeyObject | undefined {
  const forms = ['pkcs8', 'pkcs1'] as const
  const tries = content.includes('-----BEGIN')
    ? [() => createPrivateKey(content)]
    : forms.map((type) => () => createPrivateKey({ key: Buffer.from(content, 'base64'), format: 'der', type }))
  for (const make of tries)
    try {
      return make()
    } catch {
      // The next form, if there is one.
    }
  return undefined
}

/** Under the exponent 1 every text is its own signature; an even one is of no key. */
function isStrongRsa({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n } = asymmetricKeyDetails ?? {}
  const isSoundExponent = publicExponent >= 3n && publicExponent % 2n === 1n
  return asymmetricKeyType === 'rsa' && modulusLength >= RSA_BITS_MIN && isSoundExponent
}

function fail(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

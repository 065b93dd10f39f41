import type { IncomingMessage } from 'node:http'
import type { Refusal } from './refusal.ts'
import { BadJson, parseStrictJson, type Json } from './strict-json.ts'

export type BodyRead =
  { readonly kind: 'json'; readonly value: Json } | { readonly kind: 'refused'; readonly refusal: Refusal }
const refused = (refusal: Refusal): BodyRead => ({ kind: 'refused', refusal })

const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a JSON body of at most `bytesMax` bytes. An empty body is `{}`; one that is compressed is refused, as its size
 * is not known before it is opened. How long it may take is the server's `requestTimeout`.
 * @throws when the socket closes before the body is complete.
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<BodyRead> {
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers
  if (encoding !== undefined && encoding !== 'identity')
    return refused({
      kind: 'unsupported_media_type',
      field: 'Content-Encoding',
      detail: 'A compressed body is not read.',
      remedy: 'Send it uncompressed.',
    })
  if (Number(length ?? 0) > bytesMax) return tooLarge(bytesMax)
  const bytes = await collect(request, bytesMax)
  if (bytes === undefined) return tooLarge(bytesMax)
  if (bytes.length === 0) return { kind: 'json', value: {} }
  if (!JSON_TYPE.test(type ?? ''))
    return refused({
      kind: 'unsupported_media_type',
      field: 'Content-Type',
      detail: 'The body must be JSON in UTF-8.',
      remedy: 'Send Content-Type: application/json.',
    })
  return parseBody(bytes)
}

/** By events: leaving a `for await` would destroy the socket that the refusal has to go through. */
function collect(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= bytesMax) return void chunks.push(chunk)
      request.off('data', onData).pause()
      resolve(undefined)
    }
    request
      .on('data', onData)
      .once('end', () => resolve(Buffer.concat(chunks)))
      .once('error', reject)
      .once('close', () => reject(new Error('the socket closed before the body was complete')))
  })
}

/** Pure: bytes to a value, or why not. */
export function parseBody(bytes: Uint8Array): BodyRead {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return refused({ kind: 'malformed_body', detail: 'The body is not valid UTF-8.' })
  }
  try {
    return { kind: 'json', value: parseStrictJson(text, 'payload') }
  } catch (error) {
    if (!(error instanceof BadJson)) throw error
    const field = error.path.slice(0, 100)
    return refused(
      field === ''
        ? { kind: 'malformed_body', detail: `The body is not valid JSON: ${error.message}.` }
        : { kind: 'invalid_field', field, detail: `${field} ${error.message}.` },
    )
  }
}

const tooLarge = (bytesMax: number) =>
  refused({
    kind: 'too_large',
    detail: `The body is larger than ${bytesMax} bytes.`,
    remedy: 'Send fewer orders in one request.',
  })

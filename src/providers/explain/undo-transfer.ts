import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib'
import { withBody, type Restored, type Seen } from './distortion.ts'

const BYTES_MAX = 1_048_576
const UNPACKERS = { gzip: gunzipSync, deflate: inflateSync, 'raw deflate': inflateRawSync, br: brotliDecompressSync }

/** The bytes are still packed; bounded, as a small body may unpack to gigabytes. */
export function* undoCompressed(seen: Seen): Generator<Restored> {
  const { rawBody } = seen.request
  const headers = Object.fromEntries(
    Object.entries(seen.request.headers).filter(([name]) => name !== 'content-encoding'),
  )
  for (const [how, unpack] of Object.entries(UNPACKERS)) {
    try {
      const body = unpack(rawBody, { maxOutputLength: BYTES_MAX })
      if (body.length > 0) yield withBody({ ...seen, request: { ...seen.request, headers } }, body, how)
    } catch {
      // Not packed so.
    }
  }
}

/** Saved with the lengths of its chunks between them. */
export function* undoChunked(seen: Seen): Generator<Restored> {
  const body = seen.request.rawBody.toString('latin1')
  const chunks: string[] = []
  for (let at = 0; ;) {
    const [head, digits] = /^([0-9a-f]{1,6})[^\r\n]{0,64}\r?\n/i.exec(body.slice(at, at + 80)) ?? []
    if (head === undefined || digits === undefined) return
    const size = Number.parseInt(digits, 16)
    if (size === 0) break
    const start = at + head.length
    chunks.push(body.slice(start, start + size))
    at = start + size
    if (body.charAt(at) === '\r') at++
    if (body.charAt(at) === '\n') at++
    if (at >= body.length) break
  }
  if (chunks.length > 0) yield withBody(seen, chunks.join(''))
}

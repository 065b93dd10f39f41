import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { plainIn } from '../open-bill.ts'

/** A file that could not be fetched, or is not the one that the provider signed for. */
export class NotFetched extends Error {
  override readonly name = 'NotFetched'
}

/** Ten million rows, packed as badly as can be. */
const BYTES_MAX = 2 * 1_024 ** 3
/** Without a byte. */
const IDLE_MS_MAX = 30_000
const FETCH_MS_MAX = 1_800_000

/**
 * Fetches a bill into a new file, which only its owner can read. No redirect is followed.
 * @throws NotFetched
 */
export async function download(
  { url, headers }: { readonly url: URL; readonly headers: Readonly<Record<string, string>> },
  path: string,
): Promise<void> {
  try {
    const signal = AbortSignal.timeout(FETCH_MS_MAX)
    const response = await answerOf(url, headers, signal)
    if (response.statusCode !== 200) {
      response.destroy()
      throw new NotFetched(`its address answered ${String(response.statusCode)}`)
    }
    await pipeline(response, bounded, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal })
  } catch (error) {
    // Reading from the network fails as it does; a full disk is ours.
    const code = (error as NodeJS.ErrnoException).code
    if (error instanceof NotFetched || code === 'ENOSPC' || code === 'EEXIST') throw error
    throw new NotFetched(`it could not be fetched: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const answerOf = (url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const start = url.protocol === 'https:' ? requestHttps : requestHttp
    const request = start(url, {
      ...{ signal, timeout: IDLE_MS_MAX, agent: false },
      headers: { 'user-agent': 'paidonce', 'accept-encoding': 'identity', ...headers },
    })
    request.once('response', resolve).on('error', reject)
    request.on('timeout', () => request.destroy(new NotFetched('nothing came for half a minute')))
    request.end()
  })

async function* bounded(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > BYTES_MAX) throw new NotFetched(`it has more than ${BYTES_MAX} bytes`)
    yield chunk
  }
}

/** Of what is in a file, unpacked. @throws DamagedBill */
export async function sha1Of(path: string): Promise<string> {
  const hash = createHash('sha1')
  for await (const bytes of plainIn(path)) for await (const chunk of bytes) hash.update(chunk)
  return hash.digest('hex')
}

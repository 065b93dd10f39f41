import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { TextDecoder } from 'node:util'
import { createGunzip } from 'node:zlib'
import { openPromise as openZip } from 'yauzl'
import type { BillFormat } from '../../providers/bill-formats.ts'

/** A file that cannot be unpacked to its end, or is far too large. */
export class DamagedBill extends Error {
  override readonly name = 'DamagedBill'
}

/** What a file may unpack to, with all that is in it: some ten million rows. */
const BYTES_MAX = 4 * 1_024 ** 3
const HEAD_BYTES = 64

/** SHA-256 of a file as it lies there, and its size. */
export async function digestOf(path: string): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of createReadStream(path)) {
    hash.update(chunk as Buffer)
    bytes += (chunk as Buffer).length
  }
  return { sha256: hash.digest('hex'), bytes }
}

/**
 * The texts in a bill's file, each piece by piece: the file itself, what is in it if it is gzipped, or each of the files
 * in it if it is zipped. Nothing is kept of what was read.
 * @throws DamagedBill
 */
export async function* textsIn(path: string, format: BillFormat): AsyncGenerator<AsyncIterable<string>> {
  for await (const bytes of plainIn(path)) {
    const pieces = decoded(bytes, format)
    const first = await pieces.next()
    // Beside its details Alipay packs a summary.
    if (first.done === true || format.isBeside(first.value)) await pieces.return(undefined)
    else yield withFirst(first.value, pieces)
  }
}

async function* withFirst(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

/** What is in a file, unpacked: of a zip each of its files. @throws DamagedBill */
export async function* plainIn(path: string): AsyncGenerator<AsyncIterable<Buffer>> {
  const room = { bytes: BYTES_MAX }
  const magic = await firstBytes(path)
  if (magic.readUInt32BE(0) === ZIP) yield* unzipped(path, room)
  else if (magic.readUInt16BE(0) === GZIP)
    yield bounded(
      pipeline(createReadStream(path), createGunzip(), () => undefined),
      room,
    )
  else yield bounded(createReadStream(path), room)
}

const ZIP = 0x504b0304
const GZIP = 0x1f8b

interface Room {
  bytes: number
}

async function* unzipped(path: string, room: Room): AsyncGenerator<AsyncIterable<Buffer>> {
  // Names are GBK, and nothing is written under them.
  const zip = await openZip(path, { lazyEntries: true, autoClose: false, decodeStrings: false }).catch(damaged)
  try {
    for await (const entry of zip.eachEntry())
      if (!isFolder(entry.fileNameRaw)) yield bounded(await zip.openReadStreamPromise(entry), room)
  } catch (error) {
    damaged(error)
  } finally {
    zip.close()
  }
}

const isFolder = (name: Buffer) => name.at(-1) === 0x2f

async function* bounded(bytes: AsyncIterable<unknown>, room: Room): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of bytes) {
      room.bytes -= (chunk as Buffer).length
      if (room.bytes < 0) throw new DamagedBill(`it unpacks to more than ${BYTES_MAX} bytes`)
      yield chunk as Buffer
    }
  } catch (error) {
    damaged(error)
  }
}

/** Reading fails as reading does; all else that is thrown here says that what was packed is not whole. */
function damaged(error: unknown): never {
  if (error instanceof DamagedBill || (error as NodeJS.ErrnoException).syscall !== undefined) throw error
  throw new DamagedBill(`it cannot be unpacked: ${error instanceof Error ? error.message : String(error)}`)
}

async function* decoded(bytes: AsyncIterable<Buffer>, { charsetOf }: BillFormat): AsyncGenerator<string> {
  let head = Buffer.alloc(0)
  let decoder: TextDecoder | undefined
  for await (const chunk of bytes) {
    if (decoder !== undefined) {
      yield decoder.decode(chunk, { stream: true })
      continue
    }
    head = Buffer.concat([head, chunk])
    if (head.length < HEAD_BYTES) continue
    decoder = new TextDecoder(charsetOf(head))
    yield decoder.decode(head, { stream: true })
  }
  if (decoder === undefined) yield new TextDecoder(charsetOf(head)).decode(head)
  else yield decoder.decode()
}

async function firstBytes(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0)
    return buffer
  } finally {
    await file.close()
  }
}

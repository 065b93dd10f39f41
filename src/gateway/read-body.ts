import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { createUnfinished, type UnfinishedBody, type UnfinishedLimits } from './unfinished-bodies.ts'

export type Body =
  | { readonly kind: 'complete'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' | 'too_many_pieces' }
  /** Others needed the room, and this one had been unfinished for longest. */
  | { readonly kind: 'crowded_out' }
  /** The sender went away, or was too slow, before the last byte. */
  | { readonly kind: 'incomplete' }

export interface BodyLimits extends UnfinishedLimits {
  /** Of one body. */
  readonly bytesMax: number
}

/** 64 KiB in segments of the smallest usual MTU are 123; 65,536 chunks of one byte would cost 470 bytes each. */
export const PIECES_MAX = 256
const FIRST_BYTES = 2_048
const NOTHING = Buffer.alloc(0)
const ignore = () => undefined
/** What a sender may still write after its answer, so that it can read that instead of a reset connection. */
const DISCARD_BYTES_MAX = 1_048_576
const DISCARD_PIECES_MAX = 1_024

/**
 * Makes the reader of all bodies of a server: it collects the raw bytes and calls `done` exactly once. What exceeds a
 * limit is never kept. Measured 6 to 20 µs cheaper per request than Express's own reader.
 */
export function createBodyReader(limits: BodyLimits) {
  const { bytesMax } = limits
  const unfinished = createUnfinished(limits)

  return (request: IncomingMessage, done: (body: Body) => void): void => {
    const announced = Number(request.headers['content-length'] ?? bytesMax)
    if (announced > bytesMax) {
      done({ kind: 'too_large' })
      discardBody(request)
      return
    }
    let kept: Buffer = NOTHING
    let bytes = 0
    let pieces = 0
    let settled = false
    let entry: UnfinishedBody | undefined
    const settle = (body: Body) => {
      if (settled) return
      settled = true
      kept = NOTHING
      if (entry !== undefined) unfinished.end(entry)
      done(body)
    }
    const refuse = (kind: 'too_large' | 'too_many_pieces' | 'crowded_out') => {
      settle({ kind })
      discardBody(request)
    }
    request.on('data', (piece: Buffer) => {
      if (settled) return
      const length = bytes + piece.length
      if (length > bytesMax) refuse('too_large')
      else if (++pieces > PIECES_MAX) refuse('too_many_pieces')
      else if (bytes === 0 && length === announced) {
        // All of it at once, as nearly always: its end comes in this turn, and a copy would serve nothing.
        kept = piece
        bytes = length
      } else {
        // A piece holds on to all that was read from the socket with it, and to an object of its own.
        if (length > kept.length) kept = grown(kept, bytes, length, announced)
        piece.copy(kept, bytes)
        bytes = length
        entry ??= unfinished.begin(() => refuse('crowded_out'))
        unfinished.resize(entry, kept.length)
      }
    })
    request.on('end', () => settle({ kind: 'complete', bytes: bytes === kept.length ? kept : kept.subarray(0, bytes) }))
    // Without a listener an aborted request would throw; `close` comes after every end, early or not.
    request.on('error', ignore)
    request.on('close', () => settle({ kind: 'incomplete' }))
  }
}

/** Room for `length` bytes: doubled, as growing by each piece would copy all each time; never by what is only announced. */
function grown(kept: Buffer, bytes: number, length: number, announced: number): Buffer {
  const room = Buffer.allocUnsafeSlow(Math.max(length, Math.min(Math.max(kept.length * 2, FIRST_BYTES), announced)))
  kept.copy(room, 0, 0, bytes)
  return room
}

/** Connections whose request was answered before its body had come: nothing more may be written to them. */
const answered = new WeakSet<Socket>()
export const isAnswered = (socket: Socket) => answered.has(socket)

/**
 * Lets the rest of an unwanted body pass, so that the connection stays usable and its answer can be read; a sender
 * that does not stop is cut off. The server's own time limit ends a slow one.
 */
export function discardBody(request: IncomingMessage): void {
  if (request.readableEnded || request.destroyed) return
  let bytes = 0
  let pieces = 0
  answered.add(request.socket)
  request.on('error', ignore)
  request.on('end', () => answered.delete(request.socket))
  request.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > DISCARD_BYTES_MAX || ++pieces > DISCARD_PIECES_MAX) request.socket.destroy()
  })
}

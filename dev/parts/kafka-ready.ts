import { connect } from 'node:net'

const METADATA = 3
const VERSION = 1
const CORRELATION = 7

/** Asks one broker for the cluster's metadata. @returns how many brokers it knows as alive */
export function aliveBrokers(port: number, timeoutMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port })
    const chunks: Buffer[] = []
    const settle = (act: () => void) => {
      socket.destroy()
      act()
    }
    socket.setTimeout(timeoutMs, () => settle(() => reject(new Error('no answer'))))
    socket.once('error', (error) => settle(() => reject(error)))
    socket.once('close', () => reject(new Error('closed without an answer')))
    socket.once('connect', () => socket.write(metadataRequest()))
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      const all = Buffer.concat(chunks)
      // size, correlation id, number of brokers (the protocol guide's Metadata response, version 1)
      if (all.length >= 12) settle(() => resolve(all.readInt32BE(8)))
    })
  })
}

/** Header version 1 with a null client id, and an empty topic list: none, not all. */
function metadataRequest(): Buffer {
  const body = Buffer.alloc(18)
  body.writeInt32BE(14, 0)
  body.writeInt16BE(METADATA, 4)
  body.writeInt16BE(VERSION, 6)
  body.writeInt32BE(CORRELATION, 8)
  body.writeInt16BE(-1, 12)
  body.writeInt32BE(0, 14)
  return body
}

import { connect, createServer, type Socket } from 'node:net'
import { kafkaFrames } from './kafka-frames.ts'
import { noEffects, type Effects, type Toxic } from './toxic.ts'

export interface Proxy {
  readonly name: string
  readonly port: number
  /** Undefined: bytes pass. Connections that have lost bytes are reset then. */
  readonly set: (toxic: Toxic | undefined) => void
  readonly effects: () => Readonly<Effects>
  readonly close: () => Promise<void>
}

interface Pair {
  readonly down: Socket
  readonly up: Socket
  isBroken: boolean
}

/** Forwards the connections of a port of the loopback to another, and does to them what it is told. */
export async function startProxy(name: string, port: number, target: number): Promise<Proxy> {
  let toxic: Toxic | undefined
  let effects = noEffects()
  const pairs = new Set<Pair>()
  const reset = (pair: Pair) => {
    pair.down.resetAndDestroy()
    pair.up.destroy()
    pairs.delete(pair)
  }

  const server = createServer({ noDelay: true }, (down) => {
    if (toxic?.kind === 'cut') {
      effects.connectionsRefused += 1
      down.on('error', () => undefined)
      down.resetAndDestroy()
      return
    }
    const up = connect({ port: target, host: '127.0.0.1', noDelay: true })
    const pair: Pair = { down, up, isBroken: false }
    pairs.add(pair)
    forward(pair, 'request')
    forward(pair, 'response')
    down.on('error', () => undefined)
    up.on('error', () => down.resetAndDestroy())
    up.on('close', () => pairs.delete(pair))
  })

  /** One direction of a connection, in order; what was taken on is delivered, whether or not its sender is still there. */
  function forward(pair: Pair, direction: 'request' | 'response') {
    const [from, to] = direction === 'request' ? [pair.down, pair.up] : [pair.up, pair.down]
    const frames = kafkaFrames()
    let lastDueMs = 0
    let waiting = 0
    let hasEnded = false
    const pass = (chunk: Buffer) => {
      if (!to.destroyed && !to.write(chunk)) {
        from.pause()
        to.once('drain', () => from.resume())
      }
    }
    const later = (chunk: Buffer, ms: number) => {
      lastDueMs = Math.max(lastDueMs, performance.now() + ms)
      waiting += 1
      setTimeout(() => {
        waiting -= 1
        pass(chunk)
        if (hasEnded && waiting === 0) to.end()
      }, lastDueMs - performance.now())
    }
    const inOrder = (chunk: Buffer) => {
      if (waiting > 0) later(chunk, 0)
      else pass(chunk)
    }
    from.on('data', (chunk) => {
      const heldAt =
        direction === 'request' ? frames.find(chunk, toxic?.kind === 'hold' ? toxic.apiKeys : []) : undefined
      if (pair.isBroken || toxic?.kind === 'half_open') {
        pair.isBroken = true
        effects.bytesSwallowed += chunk.length
      } else if (toxic?.kind === 'drop_responses' && direction === 'response') {
        effects.responsesDropped += 1
        // Requests still pass; but who has missed an answer must not be given a later one as if it were that.
        pair.down.pause()
        setTimeout(() => reset(pair), 0)
      } else if (toxic?.kind === 'delay') {
        effects.chunksDelayed += 1
        later(chunk, toxic.ms + Math.random() * toxic.jitterMs)
      } else if (toxic?.kind === 'hold' && heldAt !== undefined) {
        effects.requestsHeld += 1
        if (heldAt > 0) inOrder(chunk.subarray(0, heldAt))
        later(chunk.subarray(heldAt), toxic.ms)
      } else inOrder(chunk)
    })
    from.on('close', () => {
      hasEnded = true
      if (waiting === 0) to.end()
    })
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    ...{ name, port },
    set: (next) => {
      toxic = next
      effects = next === undefined ? effects : noEffects()
      for (const pair of pairs) {
        if (next?.kind === 'cut') effects.connectionsReset += 1
        if (next?.kind === 'cut' || (next === undefined && pair.isBroken)) reset(pair)
      }
    },
    effects: () => effects,
    close: () => {
      for (const pair of pairs) reset(pair)
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

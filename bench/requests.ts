import { writeFileSync } from 'node:fs'
import type { SignedCallback } from '../test/helpers/merchant.ts'

/** A request's bytes on the wire, after their length in four bytes: what `http-load.ts` reads. */
function onTheWire({ path, headers, rawBody }: SignedCallback): Buffer {
  const lines = Object.entries({ host: 'localhost', 'content-length': rawBody.length, accept: '*/*', ...headers })
  const head = Buffer.from(
    `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  )
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length + rawBody.length)
  return Buffer.concat([length, head, rawBody])
}

export const writeRequests = (file: string, callbacks: readonly SignedCallback[]) =>
  writeFileSync(file, Buffer.concat(callbacks.map(onTheWire)))

/**
 * A stream of `count` callbacks for the given orders: each order once, the rest repeats of earlier ones, evenly spread.
 * @param sign called once per order
 */
export function withDuplicates(
  outTradeNos: readonly string[],
  count: number,
  sign: (outTradeNo: string) => SignedCallback,
): SignedCallback[] {
  const signed = outTradeNos.map((outTradeNo) => sign(outTradeNo))
  const stream: SignedCallback[] = []
  for (let at = 0; at < count; at++) {
    const known = Math.floor((at * signed.length) / count)
    const isFirst = at === 0 || known > Math.floor(((at - 1) * signed.length) / count)
    // A repeat is of an order of the last hundred, as a provider's storms are.
    const callback = signed[isFirst ? known : Math.max(0, known - ((at * 7) % 100))]
    if (callback !== undefined) stream.push(callback)
  }
  return stream
}

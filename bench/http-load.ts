import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

/** What a load run reports on its last line. */
export interface LoadResult {
  readonly answers: number
  readonly success: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

// A process of its own: node bench/http-load.ts FILE PORT CONNECTIONS SECONDS, or `once` to send each request once
// FILE holds requests as bytes on the wire, each after its length in four bytes; each connection sends the next one
// when it has its answer. Answers are only counted, so that the load takes little of the machine.
if (import.meta.main) {
  const [file = '', port = '', connections = '64', seconds = '5'] = process.argv.slice(2)
  const requests = readRequests(file)
  const result = await load(requests, Number(port), Number(connections), seconds)
  console.log(JSON.stringify(result))
  process.exit(0)
}

function readRequests(file: string): Buffer[] {
  const bytes = readFileSync(file)
  const requests: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const end = at + 4 + bytes.readUInt32BE(at)
    requests.push(bytes.subarray(at + 4, end))
    at = end
  }
  return requests
}

async function load(requests: readonly Buffer[], port: number, connections: number, seconds: string) {
  const latenciesMs: number[] = []
  let next = 0
  let success = 0
  let stopping = false
  const isOnce = seconds === 'once'
  const startedMs = performance.now()
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true })
      let sentMs = 0
      let text = ''
      const send = () => {
        if (stopping || (isOnce && next === requests.length)) return socket.end()
        sentMs = performance.now()
        return socket.write(requests[next++ % requests.length] ?? '')
      }
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('close', () => resolve())
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1')
        const head = text.indexOf('\r\n\r\n')
        if (head < 0) return
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
        if (text.length < head + 4 + length) return
        if (text.startsWith('HTTP/1.1 200')) success += 1
        latenciesMs.push(performance.now() - sentMs)
        text = ''
        send()
      })
    })
  if (!isOnce) setTimeout(() => (stopping = true), Number(seconds) * 1_000)
  await Promise.all(Array.from({ length: connections }, one))
  const sorted = latenciesMs.sort((a, b) => a - b)
  const quantile = (share: number) => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10
  return {
    answers: sorted.length,
    success,
    seconds: (performance.now() - startedMs) / 1_000,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  } satisfies LoadResult
}

import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

// A process of its own: node bench/paced-load.ts FILE PORT PER_SECOND [BEHIND APART_MS]
// Sends each request of FILE once, at an even rate whatever the answers do; answers are only counted. With BEHIND none
// is sent sooner than APART_MS after the one that so many before it was: on a busy machine a rate alone comes in bursts.
const [file = '', port = '', perSecond = '1000', behind = '0', apartMs = '0'] = process.argv.slice(2)

const requests = readRequests(file)
const idle: Socket[] = []
let answers = 0
let success = 0
let sent = 0
const sentAtMs: number[] = []
const startedMs = performance.now()

function open(first: Buffer): void {
  const socket = connect({ host: '127.0.0.1', port: Number(port), noDelay: true })
  socket.on('connect', () => socket.write(first))
  socket.on('error', (error) => {
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  })
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    const head = text.indexOf('\r\n\r\n')
    if (head < 0 || text.length < head + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)) return
    if (text.startsWith('HTTP/1.1 200')) success += 1
    text = ''
    answers += 1
    idle.push(socket)
    if (answers === requests.length) report()
  })
}

const timer = setInterval(() => {
  const due = Math.min(requests.length, Math.floor(((performance.now() - startedMs) * Number(perSecond)) / 1_000))
  const nowMs = performance.now()
  for (; sent < due; sent++) {
    const earlier = sentAtMs[sent - Number(behind)]
    if (earlier !== undefined && nowMs - earlier < Number(apartMs)) break
    const request = requests[sent]
    const socket = idle.pop()
    if (request === undefined) break
    sentAtMs.push(nowMs)
    if (socket === undefined) open(request)
    else socket.write(request)
  }
  if (sent === requests.length) clearInterval(timer)
}, 1)

function report(): void {
  console.log(JSON.stringify({ answers, success, seconds: (performance.now() - startedMs) / 1_000 }))
  process.exit(0)
}

function readRequests(path: string): Buffer[] {
  const bytes = readFileSync(path)
  const list: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const stop = at + 4 + bytes.readUInt32BE(at)
    list.push(bytes.subarray(at + 4, stop))
    at = stop
  }
  return list
}

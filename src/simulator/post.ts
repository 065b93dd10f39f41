import { createHash } from 'node:crypto'
import { request, type Agent, type ClientRequest } from 'node:http'
import type { Clock } from '../runtime/clock.ts'
import type { Heard } from './log.ts'
import type { Delivery } from './send.ts'
import type { SignedRequest } from './delivered.ts'
import { isSuccess } from './is-success.ts'
import { postSlowHead } from './post-slow-head.ts'

/** `slow`: byte by byte. `cut_off`: half of the body, and then the sender is gone. `slow_head`: not even a body. */
export type Manner = 'plain' | 'slow' | 'cut_off' | 'slow_head'

/** No answer is longer; what is, is not read. */
const ANSWER_BYTES_MAX = 4_096

interface Way {
  readonly url: string
  readonly agent: Agent
  readonly manner: Manner
  readonly answerMsMax: number
  readonly byteMs: number
  readonly clock: Clock
}

/** Posts a request and waits for its answer. Never throws: what goes wrong on the way is `no_answer`. */
export function post(provider: string, { path, headers, rawBody }: SignedRequest, way: Way): Promise<Delivery> {
  const { url, agent, manner, answerMsMax, clock } = way
  const atMs = clock.now().getTime()
  const startedMs = clock.elapsedMs()
  const requestSha256 = sha256Of(headers, rawBody)
  if (manner === 'slow_head')
    return postSlowHead({ url, path, answerMsMax, clock }).then((heard) => ({
      ...{ gateway: url, atMs, requestSha256 },
      ...heard,
    }))
  return new Promise((resolve) => {
    const sent = request(new URL(path, url), {
      // What ends in the middle leaves a socket that nobody else can use.
      agent: manner === 'plain' ? agent : false,
      method: 'POST',
      headers: { ...headers, 'content-length': rawBody.length },
      signal: AbortSignal.timeout(answerMsMax),
    })
    const end = (status: number | null, heard: Heard, answer?: string) =>
      resolve({
        ...{ gateway: url, atMs, latencyMs: clock.elapsedMs() - startedMs, status, heard, requestSha256 },
        ...(answer === undefined ? {} : { answer }),
      })
    sent.on('error', () => end(null, 'no_answer'))
    sent.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        body += text
        if (body.length > ANSWER_BYTES_MAX) response.destroy()
      })
      response.on('error', () => end(null, 'no_answer'))
      response.on('close', () => end(null, 'no_answer'))
      response.on('end', () => {
        const status = response.statusCode ?? 0
        const type = response.headers['content-type'] ?? ''
        const success = isSuccess(provider, status, type, body)
        end(status, success ? 'success' : status >= 200 && status < 300 ? 'wrong_form' : 'failure', `${type} ${body}`)
      })
    })
    if (manner === 'plain') sent.end(rawBody)
    else if (manner === 'slow') trickle(sent, rawBody, way)
    else sent.write(rawBody.subarray(0, rawBody.length / 2), () => sent.destroy())
  })
}

/** Where a provider signs in a header; elsewhere the signature is in the body. */
const SIGNATURE_HEADERS = ['wechatpay-signature', 'stripe-signature', 'webhook-signature']

function sha256Of(headers: SignedRequest['headers'], rawBody: Buffer): string {
  const signature = SIGNATURE_HEADERS.map((name) => headers[name] ?? '').join('')
  return createHash('sha256').update(rawBody).update('\0').update(signature).digest('hex')
}

/** The head at once; then, at each tick, as many bytes as are due, since a timer cannot tick for each. */
function trickle(sent: ClientRequest, rawBody: Buffer, { byteMs, clock }: Way) {
  const startedMs = clock.elapsedMs()
  let written = 0
  sent.flushHeaders()
  const tick = setInterval(() => {
    const due = byteMs === 0 ? rawBody.length : 1 + Math.floor((clock.elapsedMs() - startedMs) / byteMs)
    const bytes = rawBody.subarray(written, due)
    written += bytes.length
    if (written < rawBody.length) sent.write(bytes)
    else sent.end(bytes)
    if (written >= rawBody.length) clearInterval(tick)
  }, byteMs)
  sent.on('close', () => clearInterval(tick))
}

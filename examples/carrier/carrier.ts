import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** How the carrier misbehaves; the shares are 0 to 1, of the requests that ask it to do something. */
export interface Behaviour {
  /** Passes before it does what was asked, whether the caller still waits or not. */
  readonly slowMs: number
  /** Does it and hangs up. */
  readonly loseAnswers: number
  /** Does it and answers 500. */
  readonly failAfter: number
  /** Answers 503 and does nothing. */
  readonly refuseBefore: number
  /** Cannot be asked. */
  readonly blind: boolean
  /** Keeps the highest `x-fence` of each event, of requests and questions, and answers 409 to a lower one. */
  readonly fences: boolean
}
export const GOOD: Behaviour = {
  ...{ slowMs: 0, loseAnswers: 0, failAfter: 0, refuseBefore: 0, blind: false, fences: false },
}

/** Something that was really done. */
export interface Done {
  readonly what: string
  readonly eventId: string
  readonly reference: string
}
export interface Carrier {
  readonly url: string
  readonly done: readonly Done[]
  readonly behave: (behaviour: Partial<Behaviour>) => void
  /** Questions and requests so far. */
  readonly requests: () => number
  /** What it works on, also for callers that have gone. */
  readonly inProgress: () => number
  readonly close: () => Promise<void>
}

type Answer = [status: number, body: object]

const BODY_BYTES_MAX = 65_536

/**
 * A carrier as they are: `POST /shipments` ships, each time. Nothing is idempotent; `GET /shipments?event_id=…` tells
 * what was shipped so far under the caller's own reference. `/cancellations` is the same. `GET /stats` counts.
 */
export async function startCarrier(port = 0, random: () => number = Math.random): Promise<Carrier> {
  let behaviour = GOOD
  let requests = 0
  let inProgress = 0
  const done: Done[] = []
  const fences = new Map<string, bigint>()

  const isStale = (request: IncomingMessage, eventId: string) => {
    if (!behaviour.fences) return false
    const fence = BigInt(String(request.headers['x-fence'] ?? 0))
    const highest = fences.get(eventId) ?? 0n
    if (fence < highest) return true
    fences.set(eventId, fence)
    return false
  }
  /** What the caller is told; undefined: the carrier hangs up. */
  const act = async (what: string, request: IncomingMessage): Promise<Answer | undefined> => {
    const { event_id: eventId } = JSON.parse(await readText(request)) as { event_id: string }
    const { slowMs, refuseBefore, loseAnswers, failAfter } = behaviour
    if (random() < refuseBefore) return [503, { error: 'busy: nothing was done' }]
    inProgress += 1
    await sleep(slowMs)
    inProgress -= 1
    if (isStale(request, eventId)) return [409, { error: 'a later request or question was here' }]
    const reference = `${what === 'shipments' ? 'SF' : 'CX'}${String(done.length + 1).padStart(8, '0')}`
    done.push({ what, eventId, reference })
    if (random() < loseAnswers) return undefined
    return random() < failAfter ? [500, { error: 'something went wrong' }] : [201, { reference }]
  }
  const tell = (what: string, eventId: string, request: IncomingMessage): Answer => {
    if (behaviour.blind) return [503, { error: 'no answer today' }]
    if (isStale(request, eventId)) return [409, { error: 'a later question was here' }]
    return [200, { found: done.filter((one) => one.what === what && one.eventId === eventId) }]
  }
  const answerTo = async (request: IncomingMessage): Promise<Answer | undefined> => {
    const url = new URL(request.url ?? '/', 'http://carrier')
    const what = url.pathname.slice(1)
    if (what === 'stats') return [200, countOf(done)]
    if (what === 'behaviour' && request.method === 'PUT') {
      behaviour = { ...behaviour, ...(JSON.parse(await readText(request)) as Partial<Behaviour>) }
      return [200, behaviour]
    }
    if (what !== 'shipments' && what !== 'cancellations') return [404, {}]
    requests += 1
    return request.method === 'GET' ? tell(what, url.searchParams.get('event_id') ?? '', request) : act(what, request)
  }
  const server = createServer((request, response) => {
    answerTo(request)
      .then((answer) => {
        if (answer === undefined) request.socket.destroy()
        else response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]))
      })
      .catch(() => request.socket.destroy())
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    done,
    behave: (change) => (behaviour = { ...behaviour, ...change }),
    requests: () => requests,
    inProgress: () => inProgress,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** How much was done, and how often twice for one event. */
export function countOf(done: readonly Done[]) {
  const events = (what: string) => done.filter((one) => one.what === what).map(({ eventId }) => eventId)
  const [shipments, cancellations] = [events('shipments'), events('cancellations')]
  return {
    shipments: shipments.length,
    shipped: new Set(shipments).size,
    cancellations: cancellations.length,
    cancelled: new Set(cancellations).size,
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request as AsyncIterable<Buffer>) {
    text += chunk.toString()
    if (text.length > BODY_BYTES_MAX) throw new Error('too long')
  }
  return text
}

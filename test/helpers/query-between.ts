import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An answer on its way, for somebody in the middle to change. A header with several values is sent several times. */
export interface Passing {
  status: number
  headers: Record<string, string | string[]>
  body: Buffer
}

export interface Between {
  readonly url: string
  change: (answer: Passing) => Passing
  /** Paths that were asked. */
  readonly asked: string[]
  readonly close: () => Promise<void>
}

const OF_THE_CONNECTION = /^(host|connection|keep-alive|content-length|transfer-encoding)$/

/** Stands between a client and a provider, passes questions on, and answers what it likes. */
export async function standBetween(provider: string): Promise<Between> {
  const server = createServer((request, response) => void pass(request, response))
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    between.asked.push(request.url ?? '')
    const headers = Object.entries(request.headers).filter(([name]) => !OF_THE_CONNECTION.test(name))
    const fetched = await fetch(provider + (request.url ?? ''), {
      ...{ method: request.method ?? 'GET', headers: headers as [string, string][] },
      ...(request.method === 'POST' ? { body: Buffer.concat(chunks) } : {}),
    })
    const answer = between.change({
      status: fetched.status,
      headers: Object.fromEntries([...fetched.headers].filter(([name]) => !OF_THE_CONNECTION.test(name))),
      body: Buffer.from(await fetched.arrayBuffer()),
    })
    response.writeHead(answer.status, answer.headers).end(answer.body)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const between: Between = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    change: (answer) => answer,
    asked: [],
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return between
}

import { createServer } from 'node:http'
import type { Registry } from 'prom-client'
import { listenAt } from './listen.ts'

/** What a probe is told; the reason is for the person who reads the probe's answer. */
export interface Health {
  /** False makes the supervisor restart the process. */
  readonly alive: () => true | string
  /** False takes the process out of the load balancer. */
  readonly ready: () => true | string
}

export interface HealthServer {
  readonly port: number
  readonly close: () => Promise<void>
}

/** Serves `/healthz`, `/readyz` and `/metrics` on a port of their own, away from the public one. */
export async function serveHealth(registry: Registry, health: Health, port: number): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const answer = (status: number, body: string, type = 'text/plain; charset=utf-8') =>
      response.writeHead(status, { 'content-type': type }).end(body)
    const probe = (state: true | string) => (state === true ? answer(200, 'ok\n') : answer(503, `${state}\n`))
    switch (request.url?.split('?')[0]) {
      case '/healthz':
        return probe(health.alive())
      case '/readyz':
        return probe(health.ready())
      case '/metrics':
        return void registry.metrics().then(
          (text) => answer(200, text, registry.contentType),
          () => answer(500, 'metrics failed\n'),
        )
      default:
        return answer(404, 'not found\n')
    }
  })
  server.requestTimeout = 10_000
  const listening = await listenAt(server, { port, variable: 'METRICS_PORT' })
  return {
    port: listening,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

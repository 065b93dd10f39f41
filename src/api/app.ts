import { randomUUID } from 'node:crypto'
import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import type { Clock } from '../runtime/clock.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { isBusy, isDatabaseTrouble } from '../runtime/postgres-fault.ts'
import type { ApiReach } from './crash-points.ts'
import { bearerHash, UNAUTHENTICATED } from './authenticate.ts'
import type { ApiMetrics } from './metrics.ts'
import { forbidden, mayDo, NOT_FOUND, type Principal } from './policy.ts'
import { readBody, type BodyRead } from './read-body.ts'
import { readQuery } from './read-query.ts'
import { ORDER_BUSY, type Refusal } from './refusal.ts'
import { retryDatabase } from './retry-database.ts'
import { refuse, type AnyRoute, type ApiAnswer, type OpenRoute } from './route.ts'
import { send, statusOf } from './send.ts'

export interface AppDeps {
  /** Undefined: no such token, or it has expired or was revoked. */
  readonly findPrincipal: (tokenHash: Buffer, now: Date) => Promise<Principal | undefined>
  /** False: the answer ends its connection. */
  readonly mayKeepAlive: () => boolean
  readonly clock: Clock
  readonly log: Log
  readonly metrics: ApiMetrics
  readonly bodyBytesMax: number
  readonly inFlightMax: number
  readonly reach: ApiReach
}

const NO_BODY: BodyRead & { kind: 'json' } = { kind: 'json', value: {} }
const OVERLOADED: Refusal = {
  kind: 'overloaded',
  detail: 'Too many requests are being worked on.',
  remedy: 'Try again.',
}

/** The routes, each behind the same checks in the same order: room, token, role, query, body; then what the route does. */
export function createApp(routes: readonly AnyRoute[], deps: AppDeps): Express {
  const { clock, log, metrics } = deps
  let inFlight = 0
  const reply = (response: Response, answer: ApiAnswer, requestId: string) =>
    send(response, answer, { requestId, keepAlive: deps.mayKeepAlive() })

  async function answerTo(route: AnyRoute, request: Request): Promise<{ answer: ApiAnswer; caller?: string }> {
    if (inFlight > deps.inFlightMax) return { answer: refuse(OVERLOADED) }
    if (route.action === null) return openAnswer(route, request)
    const hash = bearerHash(request.headers.authorization)
    const again = () => metrics.databaseRetries.inc()
    const find = (known: Buffer) => retryDatabase(clock, () => deps.findPrincipal(known, clock.now()), again)
    const principal = hash === undefined ? undefined : await find(hash)
    if (principal === undefined) return { answer: refuse(UNAUTHENTICATED) }
    const caller = principal.name
    if (!mayDo(principal, route.action)) return { answer: refuse(forbidden(principal.role, route.action)), caller }
    const query = readQuery(request.query, Object.keys(route.query?.shape ?? {}))
    if (query.kind === 'refused') return { answer: refuse(query.refusal), caller }
    const body = route.method === 'get' ? NO_BODY : await readBody(request, deps.bodyBytesMax)
    if (body.kind === 'refused') return { answer: refuse(body.refusal), caller }
    const params = request.params as Record<string, string>
    const header = (name: string) => request.get(name)
    const asked = { params, query: query.values, header, principal, body }
    return { answer: await retryDatabase(clock, () => route.handle(asked), again), caller }
  }

  async function openAnswer(route: OpenRoute, request: Request): Promise<{ answer: ApiAnswer }> {
    const query = readQuery(request.query, [])
    return { answer: query.kind === 'refused' ? refuse(query.refusal) : await route.handle() }
  }

  const serve = (route: AnyRoute) => async (request: Request, response: Response) => {
    const requestId = randomUUID()
    const startedMs = clock.elapsedMs()
    metrics.inFlight.set(++inFlight)
    try {
      const { answer, caller } = await answerTo(route, request).catch((error: unknown) => ({
        answer: refuse(isBusyOrder(error, route) ? { ...ORDER_BUSY, cause: error } : surprise(error)),
        caller: undefined,
      }))
      // A socket that closed before its body was complete is nobody's failure.
      if (request.destroyed && !request.complete) return
      await deps.reach('before_answer')
      if (answer.kind === 'refused') logRefusal(answer.refusal, { requestId, caller, route: route.path })
      reply(response, answer, requestId)
      metrics.requests.inc({ method: route.method, route: route.path, status: statusOf(answer) })
      metrics.seconds.observe({ method: route.method, route: route.path }, (clock.elapsedMs() - startedMs) / 1_000)
    } finally {
      metrics.inFlight.set(--inFlight)
    }
  }

  function logRefusal({ kind, field, cause }: Refusal, where: Record<string, unknown>) {
    metrics.refusals.inc({ kind })
    const line = { kind, field, ...where, ...(cause === undefined ? {} : { error: describeError(cause) }) }
    if (kind === 'internal') log.error({ ...line, stack: cause instanceof Error ? cause.stack : undefined }, 'surprise')
    else log[kind === 'database_unavailable' ? 'warn' : 'info'](line, 'request refused')
  }

  const app = express()
  app.disable('x-powered-by').disable('etag').set('query parser', 'simple')
  for (const route of routes) app[route.method](route.path, serve(route))
  for (const path of new Set(routes.map((route) => route.path))) {
    const allow = routes.filter((route) => route.path === path).map((route) => route.method.toUpperCase())
    app.all(path, (_request, response) => {
      metrics.refusals.inc({ kind: 'method_not_allowed' })
      response.setHeader('allow', allow.join(', '))
      reply(response, refuse({ kind: 'method_not_allowed', detail: `Only ${allow.join(', ')}.` }), randomUUID())
    })
  }
  app.use((_request: Request, response: Response) => {
    metrics.refusals.inc({ kind: 'not_found' })
    reply(response, refuse(NOT_FOUND), randomUUID())
  })
  // Express's own errors: a path that cannot be decoded (400). Its default page would show the stack.
  app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) {
      next(error)
      return
    }
    const requestId = randomUUID()
    const refusal = (error as { status?: unknown }).status === 400 ? NOT_FOUND : surprise(error)
    logRefusal(refusal, { requestId })
    reply(response, refuse(refusal), requestId)
  })
  return app
}

/** A route that says so waits for an order's lock, and for no other one. */
const isBusyOrder = (error: unknown, { doc }: AnyRoute) =>
  isBusy(error) && doc.refusals?.includes('order_busy') === true

const surprise = (cause: unknown): Refusal =>
  isDatabaseTrouble(cause)
    ? { kind: 'database_unavailable', detail: 'The database does not answer.', remedy: 'Send it again.', cause }
    : { kind: 'internal', detail: 'This is logged under the instance given here.', cause }

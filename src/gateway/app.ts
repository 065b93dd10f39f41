import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import { describeError, type Log } from '../runtime/log.ts'
import { NOT_FOUND, prepare, send } from './answer.ts'
import { createCallbackRoute, type RouteParts } from './callback-route.ts'
import { discardBody } from './read-body.ts'
import { createReturnRoute } from './return-route.ts'

const INTERNAL = prepare({ status: 500, contentType: 'text/plain', body: 'internal error\n' })

/** The public application: two routes, and nothing that says what it is made of. */
export function createApp(parts: RouteParts, log: Log): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  app.enable('strict routing')
  app.post('/callbacks/:provider/:merchant', createCallbackRoute(parts))
  app.get('/returns/:provider/:merchant', createReturnRoute(parts))
  app.use(notFound(parts))
  app.use(onError(parts, log))
  return app
}

const notFound =
  ({ mayKeepAlive, pace }: RouteParts): RequestHandler =>
  (request, response) => {
    pace(response, () => send(response, NOT_FOUND, mayKeepAlive()))
    discardBody(request)
  }

const onError =
  ({ mayKeepAlive, pace }: RouteParts, log: Log): ErrorRequestHandler =>
  (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error)
      return
    }
    // A path that cannot be decoded is no path of ours.
    const undecodable = (error as { status?: unknown } | null)?.status === 400
    if (!undecodable) log.error({ error: describeError(error) }, 'request failed')
    pace(response, () => send(response, undecodable ? NOT_FOUND : INTERNAL, mayKeepAlive()))
    discardBody(request)
  }

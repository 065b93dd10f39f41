import { z } from 'zod'
import { openapiOf } from './openapi.ts'
import type { AnyRoute, OpenRoute } from './route.ts'

/**
 * The OpenAPI document of these routes and of itself. It needs no token: it says nothing of an installation, only what
 * the source says too, and generators and gateways fetch it without one. It is made once.
 */
export function openapiRoute(routes: readonly AnyRoute[]): OpenRoute {
  const route: OpenRoute = {
    method: 'get',
    path: '/v1/openapi.json',
    action: null,
    doc: {
      id: 'readOpenapi',
      summary: 'This document.',
      answers: { 200: z.looseObject({ openapi: z.string() }).meta({ id: 'OpenapiDocument' }) },
    },
    handle: () => Promise.resolve({ kind: 'answer', status: 200, body: document }),
  }
  const document = openapiOf([...routes, route])
  return route
}

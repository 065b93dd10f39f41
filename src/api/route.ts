import type { z } from 'zod'
import type { Refusal, RefusalKind } from './refusal.ts'
import type { Action, Principal } from './policy.ts'
import type { BodyRead } from './read-body.ts'

/** An authenticated request whose role allows the route's action; whether the object is theirs, the route decides. */
export interface ApiRequest {
  readonly params: Readonly<Record<string, string>>
  /** Of the route's `query`, those that were sent, each once. */
  readonly query: Readonly<Record<string, string>>
  readonly header: (name: string) => string | undefined
  readonly principal: Principal
  readonly body: BodyRead & { readonly kind: 'json' }
}

type AnswerStatus = 200 | 201 | 202
export type ApiAnswer =
  | {
      readonly kind: 'answer'
      readonly status: AnswerStatus
      readonly body: unknown
      readonly headers?: Readonly<Record<string, string>>
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

/** What `openapi.ts` says of a route beyond what the route itself says. Tests hold every answer against it. */
export interface RouteDoc {
  /** Unique; generated clients name a method after it. */
  readonly id: string
  readonly summary: string
  /** What the handler parses the body with; left out: an empty body or `{}`. */
  readonly body?: z.ZodType
  /** It takes an Idempotency-Key. */
  readonly key?: 'required' | 'optional'
  /** Its answers may have a Location. */
  readonly location?: true
  readonly answers: Readonly<Partial<Record<AnswerStatus, z.ZodType>>>
  /** Beside those that `openapi.ts` knows by the route's method and action. */
  readonly refusals?: readonly RefusalKind[]
}

export interface Route {
  readonly method: 'get' | 'post'
  readonly path: string
  readonly action: Action
  /** The query parameters that it takes; any other one is refused. */
  readonly query?: z.ZodObject
  readonly doc: RouteDoc
  /** Must be idempotent: after trouble with the database it runs again. */
  readonly handle: (request: ApiRequest) => Promise<ApiAnswer>
}

/** One that needs no token. */
export interface OpenRoute extends Omit<Route, 'method' | 'action' | 'query' | 'handle'> {
  readonly method: 'get'
  readonly action: null
  readonly query?: undefined
  readonly handle: () => Promise<ApiAnswer>
}
export type AnyRoute = Route | OpenRoute

export const refuse = (refusal: Refusal): ApiAnswer => ({ kind: 'refused', refusal })

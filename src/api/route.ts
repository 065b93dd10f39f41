import type { Refusal } from './refusal.ts'
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

export type ApiAnswer =
  | {
      readonly kind: 'answer'
      readonly status: 200 | 201 | 202
      readonly body: unknown
      readonly headers?: Readonly<Record<string, string>>
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

export interface Route {
  readonly method: 'get' | 'post'
  readonly path: string
  readonly action: Action
  /** The query parameters that it takes; any other one is refused. */
  readonly query?: readonly string[]
  /** Must be idempotent: after trouble with the database it runs again. */
  readonly handle: (request: ApiRequest) => Promise<ApiAnswer>
}

export const refuse = (refusal: Refusal): ApiAnswer => ({ kind: 'refused', refusal })

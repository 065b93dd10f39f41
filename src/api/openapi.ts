import { z } from 'zod'
import { ROLES } from '../runtime/access-token.ts'
import { answerHeaders, IDEMPOTENCY_KEY, SENT_HEADERS } from './openapi-headers.ts'
import { rolesFor } from './policy.ts'
import { PROBLEM, problemType } from './problem-schema.ts'
import { REFUSALS, type RefusalKind } from './refusal.ts'
import type { AnyRoute } from './route.ts'

type Json = Record<string, unknown>

/** In an address, as in `/v1/orders/:merchant/:outTradeNo`. */
const IN_PATH: Readonly<Record<string, Json>> = {
  id: { type: 'integer', minimum: 1 },
  merchant: { type: 'string' },
  outTradeNo: { type: 'string', description: 'out_trade_no, percent-encoded.' },
}

/**
 * The OpenAPI 3.1 document of these routes. Nothing in it is written twice: bodies and queries are what the handlers
 * parse with, refusals come from their table, roles from the policy.
 */
export function openapiOf(routes: readonly AnyRoute[]): Json {
  const { schemas, components } = schemasOf(routes)
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method]: operationOf(route, schemas) }
  }
  return {
    openapi: '3.1.1',
    info: {
      ...{ title: 'paidonce orders api', version: '1' },
      summary: 'Creates orders, files commands, reads; an order that exists is decided about by its lane alone.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      schemas: components,
      headers: SENT_HEADERS,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'paidonce token create' } },
    },
  }
}

/** Every schema of the routes in one conversion, so that what several have in common is there once. */
function schemasOf(routes: readonly AnyRoute[]): { schemas: Record<string, Json>; components: Json } {
  const parts: Record<string, z.ZodType> = { problem: PROBLEM }
  for (const { doc, query } of routes) {
    if (doc.body !== undefined) parts[`${doc.id}.body`] = doc.body
    for (const [status, schema] of Object.entries(doc.answers)) parts[`${doc.id}.${status}`] = schema
    for (const [name, schema] of Object.entries(query?.shape ?? {})) parts[`${doc.id}?${name}`] = schema as z.ZodType
  }
  const made = z.toJSONSchema(z.strictObject(parts), { io: 'input', unrepresentable: 'any' })
  const moved = JSON.parse(JSON.stringify(made).replaceAll('#/$defs/', '#/components/schemas/')) as typeof made
  return { schemas: moved.properties as Record<string, Json>, components: moved.$defs as Json }
}

function operationOf(route: AnyRoute, schemas: Record<string, Json>): Json {
  const { doc, path, query, action } = route
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const schema = IN_PATH[name]
    if (schema === undefined) throw new Error(`nothing is known of the parameter ${name} of ${path}`)
    return { name, in: 'path', required: true, schema }
  })
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const absent = (schema as z.ZodType).safeParse(undefined)
    const fallback = absent.success && absent.data !== undefined ? { default: absent.data } : {}
    return { name, in: 'query', required: !absent.success, schema: { ...schemas[`${doc.id}?${name}`], ...fallback } }
  })
  const key = doc.key === undefined ? [] : [{ ...IDEMPOTENCY_KEY, required: doc.key === 'required' }]
  const parameters = [...inPath, ...inQuery, ...key]
  return {
    operationId: doc.id,
    summary: doc.summary,
    ...(action === null ? { security: [] } : { description: `Roles: ${rolesFor(action).join(', ')}.` }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.method === 'get' ? {} : { requestBody: bodyOf(doc.body, schemas[`${doc.id}.body`]) }),
    responses: responsesOf(route, schemas),
  }
}

const bodyOf = (body: z.ZodType | undefined, schema: Json = { type: 'object', additionalProperties: false }): Json => ({
  // An empty body is read as {}.
  required: body !== undefined && !body.safeParse({}).success,
  content: { 'application/json': { schema } },
})

function responsesOf(route: AnyRoute, schemas: Record<string, Json>): Json {
  const responses: Json = {}
  for (const status of Object.keys(route.doc.answers).map(Number))
    responses[status] = {
      description: DONE[status] ?? 'Done.',
      ...answerHeaders(status, route.doc.location === true),
      content: { 'application/json': { schema: schemas[`${route.doc.id}.${status}`] } },
    }
  const byStatus = Map.groupBy(refusalsOf(route), (kind) => REFUSALS[kind].status)
  for (const [status, kinds] of byStatus)
    responses[status] = {
      description: kinds.map((kind) => `${REFUSALS[kind].title}.`).join(' '),
      ...answerHeaders(status, false),
      content: {
        'application/problem+json': {
          schema: {
            ...{ allOf: [schemas['problem']], type: 'object' },
            properties: { type: { enum: kinds.map(problemType) }, status: { const: status } },
          },
        },
      },
    }
  return responses
}

const DONE: Readonly<Record<number, string>> = {
  200: 'Done, or done before.',
  201: 'Made.',
  202: 'Filed; it is not done yet.',
}

/** In the order of the table, each once. */
function refusalsOf({ method, action, doc }: AnyRoute): RefusalKind[] {
  const kinds = new Set<RefusalKind>([
    ...(doc.refusals ?? []),
    ...(['invalid_field', 'overloaded', 'internal'] as const),
    ...(action === null ? [] : (['unauthenticated', 'database_unavailable'] as const)),
    ...(action !== null && rolesFor(action).length < ROLES.length ? (['forbidden'] as const) : []),
    ...(method === 'get' ? [] : (['malformed_body', 'too_large', 'unsupported_media_type'] as const)),
  ])
  return (Object.keys(REFUSALS) as RefusalKind[]).filter((kind) => kinds.has(kind))
}

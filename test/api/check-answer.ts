import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { createRoutes, type RouteDeps } from '../../src/api/routes.ts'

export interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[]
  readonly requestBody?: object
  readonly security?: readonly unknown[]
  readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, object>> }>>
}
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** Routes that are only looked at: each asks for what it needs when a request comes. */
export const NO_DEPS = new Proxy({}, { get: () => ({}) }) as RouteDeps

export async function documentOf(routes = createRoutes(NO_DEPS)): Promise<Document> {
  const route = routes.find(({ action }) => action === null)
  const answer = route?.action === null ? await route.handle() : undefined
  if (answer?.kind !== 'answer') throw new Error('no document')
  return answer.body as Document
}

export interface Exchange {
  readonly method: string
  readonly path: string
  readonly sent: unknown
  readonly status: number
  readonly contentType: string | null
  readonly body: unknown
}
export type CheckExchange = (exchange: Exchange) => Operation | undefined

/**
 * @returns a function that throws at a route, status, content type or field that the document does not have, and where
 *   a request was accepted that the document would not allow; it returns the operation, undefined where there is none
 */
export function createCheck(document: Document): CheckExchange {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(document, 'api')
  const paths = Object.keys(document.paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  const hold = (what: string, pointer: readonly string[], value: unknown) => {
    const escaped = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    const validate = ajv.getSchema(`api#/${escaped.join('/')}`)
    if (validate === undefined) throw new Error(`${what}: the document has no such schema`)
    if (validate(value) !== true)
      throw new Error(`${what}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`)
  }

  return ({ method, path, sent, status, contentType, body }) => {
    const { pathname, searchParams } = new URL(path, 'http://api')
    const template = paths.find(({ pattern }) => pattern.test(pathname))?.template
    const verb = method.toLowerCase()
    const operation = template === undefined ? undefined : document.paths[template]?.[verb]
    const what = `${method} ${path} answered ${status}`
    if (template === undefined || operation === undefined) {
      if (status !== (template === undefined ? 404 : 405)) throw new Error(`${what}: no such operation is documented`)
      hold(what, ['components', 'schemas', 'Problem'], body)
      return undefined
    }
    const at = ['paths', template, verb]
    const content = operation.responses[status]?.content
    const type = contentType ?? ''
    if (content === undefined) throw new Error(`${what}: this status is not documented`)
    if (!(type in content)) throw new Error(`${what}: as ${type}, documented is ${Object.keys(content).join()}`)
    hold(what, [...at, 'responses', String(status), 'content', type, 'schema'], body)
    if (status >= 300) return operation
    const known = new Set(operation.parameters?.filter((one) => one.in === 'query').map(({ name }) => name))
    const unknown = [...searchParams.keys()].filter((name) => !known.has(name))
    if (unknown.length > 0) throw new Error(`${what}: parameters ${unknown.join()} are not documented`)
    // Of a list each order has an answer of its own: one that is refused need not be as documented.
    const isInPart = JSON.stringify(body).includes('"problem":')
    if (sent !== undefined && !isInPart)
      hold(what, [...at, 'requestBody', 'content', 'application/json', 'schema'], sent)
    return operation
  }
}

import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { format } from 'prettier'
import { expect, test } from 'vitest'
import { createRoutes } from '../../src/api/routes.ts'
import { REFUSALS } from '../../src/api/refusal.ts'
import { createCheck, documentOf, NO_DEPS } from './check-answer.ts'

const document = await documentOf()
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  expect(await validator.validate({ ...structuredClone(document) })).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
  // The check is one: a parameter without a place is found.
  const broken = structuredClone(document) as unknown as Record<string, Record<string, Record<string, object>>>
  broken['paths'] = { '/x': { get: { parameters: [{ name: 'a' }] } } }
  expect(await new Validator().validate(broken)).toMatchObject({ valid: false })
})

test('every route is in it once, under a name of its own, and says who may use it', () => {
  const routes = createRoutes(NO_DEPS)
  expect(operations.map(({ path, method }) => `${method} ${path}`).sort()).toEqual(
    routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`).sort(),
  )
  expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(routes.length)
  for (const { operation } of operations) {
    const isOpen = operation.security?.length === 0
    expect('401' in operation.responses).toBe(!isOpen)
    expect(operation).toMatchObject(isOpen ? { operationId: 'readOpenapi' } : { description: /^Roles: [a-z, ]+\.$/ })
  }
})

test('an object of ours takes no field that it does not name', () => {
  const open: string[] = []
  const walk = (value: unknown, at: string) => {
    if (typeof value !== 'object' || value === null) return
    const { type, properties, additionalProperties, allOf } = value as Record<string, unknown>
    if (type === 'object' && allOf === undefined && additionalProperties !== false) open.push(at)
    if (properties !== undefined && type === undefined) open.push(at)
    for (const [key, inner] of Object.entries(value)) walk(inner, `${at}/${key}`)
  }
  walk(document, '')
  // What a kind of anomaly or refusal has of its own, a record's headers, counts by name, and OpenAPI's own form.
  expect(open.map((at) => at.replace('/components/schemas/', '')).sort()).toEqual([
    'Anomaly/properties/facts',
    'Command/properties/result/anyOf/1/properties/refusal',
    'OpenapiDocument',
    'ReplayPlan/properties/by_reason',
    'WholeDeadLetter/properties/headers',
  ])
})

test('every kind of refusal is in it, but the one that no route gives', () => {
  const text = JSON.stringify(document.paths)
  const missing = Object.keys(REFUSALS).filter((kind) => !text.includes(`urn:paidonce:problem:${kind}"`))
  expect(missing).toEqual(['method_not_allowed'])
})

test('docs/openapi.json is what the api serves', async () => {
  const options = JSON.parse(readFileSync(new URL('../../.prettierrc.json', import.meta.url), 'utf8')) as object
  const text = await format(JSON.stringify(document), { ...options, parser: 'json' })
  // After a change: vitest run test/api/openapi.test.ts --update
  await expect(text).toMatchFileSnapshot('../../docs/openapi.json')
})

test.each([
  ['a field that is not documented', { status: 200, body: { brakes: [], more: 1 } }, /additional properties/],
  ['a field that is missing', { status: 200, body: {} }, /required property 'brakes'/],
  ['a status that is not documented', { status: 201, body: { brakes: [] } }, /status is not documented/],
  ['another content type', { status: 200, body: { brakes: [] }, contentType: 'text/html' }, /as text\/html/],
  ['a route that is not documented', { path: '/v1/breaks', status: 200, body: {} }, /no such operation/],
  ['a parameter that is not documented', { path: '/v1/brakes?a=1', status: 200, body: { brakes: [] } }, /parameters a/],
  ['a problem of another status', { status: 401, body: problem('forbidden') }, /allowed values/],
])('the check finds %s', (_what, given, message) => {
  const type = given.status >= 400 ? 'application/problem+json' : 'application/json'
  const exchange = { method: 'GET', path: '/v1/brakes', sent: undefined, contentType: type, ...given }
  expect(() => createCheck(document)(exchange)).toThrow(message)
})

function problem(kind: string) {
  return { type: `urn:paidonce:problem:${kind}`, title: 't', status: 401, detail: 'd' }
}

import type { CallbackRequest } from '../provider.ts'
import type { Restored, Seen } from './distortion.ts'
import { permutations } from './json-text.ts'
import { bare, repairedSignatures } from './repair-signature.ts'

const withHeaders = (request: CallbackRequest, changes: Readonly<Record<string, string>>, how: string): Restored => ({
  request: {
    ...request,
    headers: { ...request.headers, ...changes },
    repeatedHeaders: request.repeatedHeaders.filter((name) => changes[name] === undefined),
  },
  how,
})

/** Spaces, quotes, lost padding, percent-encoding: in the signature, in another header, or quotes around all. */
export function* undoHeaderChanged({ request, signedHeaders }: Seen): Generator<Restored> {
  const valueOf = (name: string) => request.headers[name] ?? ''
  const isSignature = (name: string) => name.endsWith('signature')
  const trimmed = signedHeaders.map((name): [string, string] => [name, bare(valueOf(name))])
  yield withHeaders(request, Object.fromEntries(trimmed), 'all of them')
  for (const name of signedHeaders.toSorted((a, b) => Number(isSignature(b)) - Number(isSignature(a))))
    for (const value of isSignature(name) ? repairedSignatures(valueOf(name)) : [bare(valueOf(name))])
      if (value !== '' && value !== valueOf(name)) yield withHeaders(request, { [name]: value }, name)
}

/** Under another name: `x-…`, `http_…`, underscores for hyphens, Svix's own for those of Standard Webhooks. */
export function* undoHeaderRenamed({ request, signedHeaders }: Seen): Generator<Restored> {
  const letters = (name: string) => name.replace(/^svix-/, 'webhook-').replace(/[^a-z0-9]/g, '')
  const found = signedHeaders.flatMap((wanted) => {
    const other = Object.keys(request.headers).find(
      (name) => name !== wanted && letters(name).endsWith(letters(wanted)) && !signedHeaders.includes(name),
    )
    return other === undefined ? [] : [[wanted, request.headers[other] ?? '', other] as const]
  })
  if (found.length === 0) return
  const all = Object.fromEntries(found.map(([wanted, value]) => [wanted, value]))
  yield withHeaders(request, all, found.map(([wanted, , other]) => `${wanted} is ${other.slice(0, 64)}`).join(', '))
  for (const [wanted, value, other] of found)
    yield withHeaders(request, { [wanted]: value }, `${wanted} is ${other.slice(0, 64)}`)
}

/** Sent twice, or joined by a comma on the way. */
export function* undoHeaderRepeated({ request, repeated, signedHeaders }: Seen): Generator<Restored> {
  const choices = signedHeaders.flatMap((name) => {
    const value = request.headers[name]
    const joined = value === undefined ? [] : value.split(/,\s*/)
    const values = repeated.get(name) ?? (joined.length > 1 ? [...joined, ...halves(joined)] : [])
    return values.length === 0 ? [] : [[name, values] as const]
  })
  if (choices.length === 0) return
  for (const last of [false, true]) {
    const picked = choices.map(([name, values]) => [name, values[last ? values.length - 1 : 0] ?? ''])
    yield withHeaders(
      request,
      Object.fromEntries(picked) as Record<string, string>,
      `the ${last ? 'last' : 'first'} one of each`,
    )
  }
  for (const [name, values] of choices)
    for (const value of values.slice(0, 8)) yield withHeaders(request, { [name]: value }, name)
}

const halves = (parts: readonly string[]) =>
  parts.length % 2 === 0 ? [parts.slice(0, parts.length / 2).join(','), parts.slice(parts.length / 2).join(',')] : []

/** Each value in another one's place. */
export function* undoHeadersSwapped({ request, signedHeaders }: Seen): Generator<Restored> {
  if (signedHeaders.length > 4) return
  for (const values of permutations(signedHeaders.map((name) => request.headers[name] ?? ''))) {
    const swapped = signedHeaders.filter((name, at) => values[at] !== (request.headers[name] ?? ''))
    const all = Object.fromEntries(signedHeaders.map((name, at) => [name, values[at] ?? '']))
    if (swapped.length > 0) yield withHeaders(request, all, swapped.join(', '))
  }
}

/** A time in milliseconds, with decimals, or as a date. */
export function* undoTimeReprinted({ request, signedHeaders }: Seen): Generator<Restored> {
  for (const name of signedHeaders) {
    const value = request.headers[name] ?? ''
    const ms = /^\d{13}$/.test(value) ? Number(value) : Date.parse(value)
    if (name.endsWith('timestamp') && /^\+?\d{10}\.\d*$|^\+\d{10}$/.test(value))
      yield withHeaders(request, { [name]: String(Math.trunc(Number(value))) }, name)
    else if (name.endsWith('timestamp') && !/^\d{10}$/.test(value) && Number.isFinite(ms))
      yield withHeaders(request, { [name]: String(Math.floor(ms / 1_000)) }, name)
  }
}

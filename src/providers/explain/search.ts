import { hash } from 'node:crypto'
import type { CallbackRequest, Provider } from '../provider.ts'
import { bodyForm } from './body-form.ts'
import type { Distortion, Restored, Seen } from './distortion.ts'
import { LAST_RESORT } from './distortions-of-parsing.ts'
import { DISTORTIONS } from './distortions.ts'

/** A provider bound to a merchant's keys, by its names. */
export interface Bound {
  readonly provider: string
  readonly merchant: string
  readonly bound: Provider
}

export interface Step {
  readonly distortion: Distortion
  readonly how: string | undefined
}

export interface Found {
  readonly by: Bound
  readonly keyId: string
  /** As it was when it was signed. */
  readonly request: CallbackRequest
  /** In the order in which they must have happened. None: the request verifies as it is. */
  readonly steps: readonly Step[]
}

export interface Effort {
  /** Requests whose signature was looked at. */
  readonly tried: number
  /** False: the time or the number of tries ran out before all was tried. */
  readonly complete: boolean
}

export interface Bounds {
  /** Whether the orders of JSON keys are tried at last, which takes seconds. */
  readonly thorough: boolean
  readonly triesMax: number
  readonly timeMs: number
  readonly elapsedMs: () => number
}

export const TRIES_MAX = 200_000
export const TIME_MS_MAX = 15_000
/** Of each distortion, where two are combined. */
const LIKELIEST = 6

/**
 * Looks for what must have happened for the signature to be good: nothing, then one distortion, then two, then the
 * orders of JSON keys; under the merchant's own keys, and for at most one distortion under everybody's.
 */
export function search(seen: Omit<Seen, 'form'>, addressed: Bound, others: readonly Bound[], bounds: Bounds) {
  const endAtMs = bounds.elapsedMs() + bounds.timeMs
  const known = new Set<string>()
  let tried = 0
  let complete = true
  const isOver = () => {
    if (tried < bounds.triesMax && bounds.elapsedMs() < endAtMs) return false
    complete = false
    return true
  }

  /** The key that made its signature, unless the same bytes were tried before. */
  const keyOf = (request: CallbackRequest, by: Bound, keys = by.bound.inspect.keys): string | undefined => {
    const { inspect, signedHeaders } = by.bound
    const headers = signedHeaders.map((name) => request.headers[name] ?? '').join('\n')
    const name = `${by.provider}/${by.merchant}/${hash('sha1', request.rawBody)}/${headers}`
    if (known.has(name)) return undefined
    known.add(name)
    tried += 1
    return keys.find(({ id }) => inspect.verifies(request, id))?.id
  }

  const withOne = function* (by: Bound, from: Restored, distortions: readonly Distortion[], most: number) {
    const form = bodyForm(by.provider)
    for (const distortion of distortions) {
      if (!distortion.bodies.includes(form)) continue
      let count = 0
      const before = { ...seen, request: from.request, signedHeaders: by.bound.signedHeaders, form }
      for (const next of applicable(distortion, before)) {
        if (count++ >= most || isOver()) break
        yield { ...next, step: { distortion, how: next.how } }
      }
    }
  }

  const find = (): Found | undefined => {
    const asItIs = { request: seen.request }
    for (const by of [addressed, ...others]) {
      if (isOver()) return undefined
      const keyId = keyOf(seen.request, by)
      if (keyId !== undefined) return { by, keyId, request: seen.request, steps: [] }
    }
    for (const { request, step } of withOne(addressed, asItIs, DISTORTIONS, Infinity)) {
      const keyId = keyOf(request, addressed)
      if (keyId !== undefined) return { by: addressed, keyId, request, steps: [step] }
    }
    for (const first of withOne(addressed, asItIs, DISTORTIONS, LIKELIEST))
      for (const { request, step } of withOne(addressed, first, DISTORTIONS, LIKELIEST)) {
        const keyId = keyOf(request, addressed)
        // What is undone first happened last.
        if (keyId !== undefined) return { by: addressed, keyId, request, steps: [step, first.step] }
      }
    for (const by of others)
      for (const { request, step } of withOne(by, asItIs, DISTORTIONS, LIKELIEST * 4)) {
        const keyId = keyOf(request, by)
        if (keyId !== undefined) return { by, keyId, request, steps: [step] }
      }
    const last = bounds.thorough ? [LAST_RESORT] : []
    // So many that only the key counts that the request names, where it names one of ours.
    const { keys, namedKey } = addressed.bound.inspect
    const named = keys.filter(({ id }) => id === namedKey(seen.request))
    for (const { request, step } of withOne(addressed, asItIs, last, Infinity)) {
      const keyId = keyOf(request, addressed, named.length > 0 ? named : keys)
      if (keyId !== undefined) return { by: addressed, keyId, request, steps: [step] }
    }
    return undefined
  }
  const found = find()
  const effort: Effort = { tried, complete: found !== undefined || complete }
  return { found, effort }
}

/** What a distortion found before it threw: a request that nobody foresaw must not end the search. */
function* applicable({ undo }: Distortion, seen: Seen): Generator<Restored> {
  try {
    yield* undo(seen)
  } catch {
    // It does not apply.
  }
}

import type { CallbackRequest } from '../provider.ts'

export type BodyForm = 'json' | 'form' | 'xml'

/** A request as it was saved, with what a provider does not look at and a fault may lie in. */
export interface Seen {
  readonly request: CallbackRequest
  /** Of the address, without its question mark; empty if there is none. */
  readonly query: string
  /** Values of the headers that came more than once, in their order. */
  readonly repeated: ReadonlyMap<string, readonly string[]>
  /** What the provider looks for in the headers. */
  readonly signedHeaders: readonly string[]
  /** What the provider's bodies are, whatever this one has become. */
  readonly form: BodyForm
}

/** A request as it may have been before. */
export interface Restored {
  readonly request: CallbackRequest
  /** Where, or in which way, in a few words. */
  readonly how?: string
}

/** Something that happens to requests on their way, and how to look behind it. */
export interface Distortion {
  readonly fault: string
  /** What happened, as a sentence. */
  readonly words: string
  /** What to do about it, as a sentence. */
  readonly remedy: string
  readonly bodies: readonly BodyForm[]
  /** What it may have been before, the likeliest first; at most a few hundred. If it throws, it is taken not to apply. */
  readonly undo: (seen: Seen) => Iterable<Restored>
}

export const ANY_BODY: readonly BodyForm[] = ['json', 'form', 'xml']

export const withBody = (seen: Seen, body: Buffer | string, how?: string): Restored => ({
  request: { ...seen.request, rawBody: typeof body === 'string' ? Buffer.from(body, 'latin1') : body },
  ...(how === undefined ? {} : { how }),
})

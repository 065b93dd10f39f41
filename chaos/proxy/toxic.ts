/** What a proxy does to the bytes that pass it. */
export type Toxic =
  /** Every connection is reset, none is accepted. */
  | { readonly kind: 'cut' }
  /** Connections stay, and nothing passes any more, in either direction. */
  | { readonly kind: 'half_open' }
  | { readonly kind: 'delay'; readonly ms: number; readonly jitterMs: number }
  /** Requests arrive and are done; nobody hears of it. */
  | { readonly kind: 'drop_responses' }
  /** A request of one of these Kafka api keys arrives so much later, also if its sender has gone meanwhile. */
  | { readonly kind: 'hold'; readonly apiKeys: readonly number[]; readonly ms: number }

/** What a toxic has done since it was set: a fault without an effect is none. */
export interface Effects {
  connectionsReset: number
  connectionsRefused: number
  bytesSwallowed: number
  chunksDelayed: number
  responsesDropped: number
  requestsHeld: number
}
export const noEffects = (): Effects => ({
  ...{ connectionsReset: 0, connectionsRefused: 0, bytesSwallowed: 0 },
  ...{ chunksDelayed: 0, responsesDropped: 0, requestsHeld: 0 },
})

import type { Callback, Instead, Source } from '../schemas/callback.ts'
import type { VerifiedMessage, WithoutFacts } from './provider.ts'

/** Where a message was learnt, and the bytes that prove it. */
export interface Origin {
  readonly merchant: string
  readonly provider: string
  readonly source: Source
  readonly receivedAtMs: number
  readonly rawBody: Buffer
  /** Only those that re-verification needs. */
  readonly rawHeaders: Readonly<Record<string, string>>
}

/** The one form in which all that is learnt about an order enters the input topic. */
export const toCallback = (message: VerifiedMessage, origin: Origin): Callback => ({
  merchant: origin.merchant,
  outTradeNo: message.outTradeNo,
  provider: origin.provider,
  source: origin.source,
  messageType: message.messageType,
  messageId: message.messageId,
  receivedAtMs: origin.receivedAtMs,
  facts: message.facts,
  instead: insteadOf(message.instead),
  rawBody: origin.rawBody,
  rawHeaders: origin.rawHeaders,
})

/** Without an order any lane will do: its owner keeps the message as a dead letter. */
export const keyOf = ({ outTradeNo, messageId }: VerifiedMessage): string => outTradeNo ?? messageId

function insteadOf(given: WithoutFacts | undefined): Instead | null {
  if (given === undefined) return null
  return given.kind === 'hint' ? { kind: 'hint', ref: given.ref } : { kind: 'no_effect', ref: null }
}

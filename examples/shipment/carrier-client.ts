import type { Answer, CallContext, CallOutcome, Fulfillment } from '../../src/consumer/consumer.ts'

export type CarrierPath = 'shipments' | 'cancellations'

/** Codes of errors before anything was sent. */
const NOT_SENT: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])

/**
 * Asks the carrier to do something. What is surely not done may be tried again; what may be done is `unknown`: a lost
 * answer, a time-out, a 500.
 */
export async function callCarrier(
  baseUrl: string,
  path: CarrierPath,
  event: Fulfillment,
  { fence, signal }: CallContext,
): Promise<CallOutcome> {
  let response: Response
  try {
    response = await fetch(`${baseUrl}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-fence': fence.toString() },
      body: JSON.stringify({ event_id: event.eventId, out_trade_no: event.outTradeNo, payload: event.payload }),
      signal,
    })
  } catch (error) {
    const code = error instanceof Error ? (error.cause as { code?: unknown } | undefined)?.code : undefined
    if (NOT_SENT.has(code)) return { kind: 'retry', reason: `the carrier cannot be reached: ${String(code)}` }
    throw error
  }
  if (response.status === 201) {
    const { reference } = (await response.json()) as { reference: string }
    return { kind: 'happened', reference }
  }
  const text = await response.text()
  // The carrier's manual says of these that nothing was done.
  if (response.status === 503 || response.status === 429) return { kind: 'retry', reason: `${response.status} ${text}` }
  if (response.status === 400) return { kind: 'refused', reason: text }
  return { kind: 'unknown', reason: `${response.status} ${text}` }
}

/** Asks the carrier what it has done for an event. */
export async function askCarrier(
  baseUrl: string,
  path: CarrierPath,
  event: Fulfillment,
  { fence, signal }: CallContext,
): Promise<Answer> {
  const response = await fetch(`${baseUrl}/${path}?event_id=${encodeURIComponent(event.eventId)}`, {
    headers: { 'x-fence': fence.toString() },
    signal,
  })
  if (!response.ok) return { kind: 'unknown', reason: `${response.status} ${await response.text()}` }
  const { found } = (await response.json()) as { found: readonly { reference: string }[] }
  return found[0] === undefined ? { kind: 'did_not_happen' } : { kind: 'happened', reference: found[0].reference }
}

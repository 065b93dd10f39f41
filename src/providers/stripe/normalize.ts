import { isUtf8 } from 'node:buffer'
import { isFields, type Fields } from '../fields.ts'
import { isIdentity, isOrderNumber, traceable } from '../limits.ts'
import type { Verdict, VerifiedMessage } from '../provider.ts'
import { malformed, refused, verified, type Refused } from '../refuse.ts'
import { parseStrictJson } from '../strict-json.ts'
import type { StripeConfig } from './config.ts'
import { KNOWN, UNCHANGING } from './event-types.ts'
import { unixMs } from './read-object.ts'
import { orderIn, otherShopsField } from './recipient.ts'

/**
 * What a verified event says about the order. Events are snapshots: their object is as it was at `created`. Only fields
 * that every API version since PaymentIntents has are read, so that `api_version` changes nothing.
 * An event of a known kind of which a field is not as documented is refused: it comes again for three days, so that a
 * repair is in time. One that names no order is somebody else's payment in the same account: kept, without a fact.
 */
export function normalize(rawBody: Buffer, config: StripeConfig): Verdict {
  const event = isUtf8(rawBody) ? parseStrictJson(rawBody.toString())?.value : undefined
  if (!isFields(event)) return malformed('body', 'no unambiguous JSON object')
  const { type, data } = event
  if (!isIdentity(type)) return malformed('type')
  const known = KNOWN.get(type)
  const stranger = strangerIn(event, config, known !== undefined)
  if (stranger !== undefined) return stranger

  const object = isFields(data) && isFields(data['object']) ? data['object'] : undefined
  const order = object === undefined ? undefined : orderIn(object, config)
  if (object !== undefined) {
    const other = otherShopsField(object, config, known !== undefined && order !== undefined)
    if (other !== undefined) return refused({ kind: 'wrong_recipient', field: `data.object.${other}` })
  }
  const message: Omit<VerifiedMessage, 'facts'> = {
    outTradeNo: isOrderNumber(order?.number) ? order.number : null,
    messageType: type,
    messageId: traceable(event['id']),
  }
  if (UNCHANGING.has(type)) return verified({ ...message, facts: [], instead: { kind: 'no_effect' } })
  if (known === undefined) return verified({ ...message, facts: [] })
  if (object === undefined) return malformed('data.object')
  if (object['object'] !== known.object) return malformed('data.object.object')
  if (order === undefined) return verified({ ...message, facts: [] })
  if (message.outTradeNo === null) return malformed(`data.object.${order.path}`)
  const createdMs = unixMs(event['created'])
  if (createdMs === undefined) return malformed('created')
  const reading = known.read(object, createdMs)
  switch (reading.kind) {
    case 'fact':
      return verified({ ...message, facts: [reading.fact] })
    case 'malformed':
      return malformed(`data.object.${reading.field}`)
    case 'no_effect':
      return verified({ ...message, facts: [], instead: reading })
    case 'unmapped':
      return verified({ ...message, facts: [] })
  }
}

/** Refuses what is not this merchant's: a test, or an event of another account that a Connect endpoint gets too. */
function strangerIn(event: Fields, { livemode, accounts }: StripeConfig, isKnown: boolean): Refused | undefined {
  const { livemode: live, account } = event
  if (live === undefined ? isKnown : live !== livemode) return refused({ kind: 'wrong_recipient', field: 'livemode' })
  const isOwn = account === undefined || account === null
  const isOurs = isOwn ? accounts.size === 0 || !isKnown : typeof account === 'string' && accounts.has(account)
  return isOurs ? undefined : refused({ kind: 'wrong_recipient', field: 'account' })
}

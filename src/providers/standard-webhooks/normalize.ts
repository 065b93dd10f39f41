import { isUtf8 } from 'node:buffer'
import type { Fact } from '../../orders/model.ts'
import { isIdentity, isOrderNumber, traceable } from '../limits.ts'
import type { CallbackRequest, Verdict } from '../provider.ts'
import { malformed, refused, verified, type Refused } from '../refuse.ts'
import { parseStrictJson } from '../strict-json.ts'
import { applyRule } from './apply-rule.ts'
import type { StandardWebhooksConfig } from './config.ts'
import { isNameable, recipientKey, type Mapping } from './mapping.ts'
import { textOf, valueReader, type ReadValue } from './read-value.ts'

/**
 * What a verified message says about the order, by the merchant's mapping. A message that proves something, and of
 * which a field is not as the mapping has it, is refused by the field's pointer: the sender sends it again.
 */
export function normalize({ headers, rawBody }: CallbackRequest, config: StandardWebhooksConfig): Verdict {
  const { mapping, prefix } = config
  const text = isUtf8(rawBody) ? rawBody.toString() : undefined
  const json = text === undefined ? undefined : parseStrictJson(text)
  if (text === undefined || json === undefined) return malformed('body', 'no unambiguous JSON')
  const read = valueReader(text, json.value)
  const type = read(mapping.type)
  if (!isIdentity(type)) return malformed(mapping.type.text)
  const rules = mapping.rules.get(type) ?? []
  const stranger = strangerIn(read, mapping, rules.length > 0)
  if (stranger !== undefined) return stranger

  const order = orderIn(read, mapping)
  const outTradeNo = textOf(order?.number)
  const id = headers['webhook-id'] ?? ''
  const message = {
    outTradeNo: isOrderNumber(outTradeNo) ? outTradeNo : null,
    messageType: type,
    messageId: traceable(id),
  }
  if (mapping.ignore.has(type)) return verified({ ...message, facts: [], instead: { kind: 'no_effect' } })
  if (rules.length === 0 || order === undefined) return verified({ ...message, facts: [] })
  if (message.outTradeNo === null) return malformed(order.field)
  const facts: Fact[] = []
  for (const rule of rules) {
    const fact = applyRule(rule, { read, prefix, id, timestamp: headers['webhook-timestamp'] ?? '' })
    if (typeof fact === 'string') return malformed(fact)
    facts.push(fact)
  }
  return verified({ ...message, facts })
}

/** The order's number in the first place that has one; what is there and unusable is not passed over. */
function orderIn(read: ReadValue, { outTradeNo }: Mapping): { number: unknown; field: string } | undefined {
  for (const pointer of outTradeNo) {
    const number = read(pointer)
    if (number !== undefined && number !== null) return { number, field: pointer.text }
  }
  return undefined
}

/** Refuses what is not this merchant's; a message that proves nothing may leave out who it is to. */
function strangerIn(read: ReadValue, { recipient }: Mapping, proves: boolean): Refused | undefined {
  for (const { pointer, ours } of recipient) {
    const named = read(pointer)
    const isOurs = isNameable(named) && ours.has(recipientKey(named))
    if (named === undefined ? proves : !isOurs) return refused({ kind: 'wrong_recipient', field: pointer.text })
  }
  return undefined
}

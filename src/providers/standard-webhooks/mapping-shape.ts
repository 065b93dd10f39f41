import { z } from 'zod'
import { FACT_KINDS, type FactKind } from '../../orders/model.ts'
import { parsePointer, type Pointer } from '../json-pointer.ts'
import { IDENTITY_BYTES_MAX } from '../limits.ts'
import { recipientKey, type EventTime, type Money, type Place, type RecipientCheck, type Rule } from './mapping.ts'

/** Decimals of a currency's major unit: the Chilean unit of account has four. */
const DECIMALS_MAX = 4
const RULES_MAX = 100
const TYPES_MAX = 200
const POINTERS_MAX = 8

/** Not a union of zod's, which says "Invalid input" and no more: the form is chosen by what was given. */
const chosen = <T>(shapeOf: (given: unknown) => z.ZodType<T>): z.ZodType<T> =>
  z.unknown().transform((given, context) => {
    const parsed = shapeOf(given).safeParse(given)
    if (parsed.success) return parsed.data
    for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path: [...path], message })
    return z.NEVER
  })
const oneOrMore = <T>(one: z.ZodType<T>, max: number): z.ZodType<T[]> =>
  chosen((given) => (Array.isArray(given) ? z.array(one).min(1).max(max) : one.transform((value) => [value])))
const has = (given: unknown, name: string) => typeof given === 'object' && given !== null && Object.hasOwn(given, name)

const pointer: z.ZodType<Pointer> = z.string().transform((text, context) => {
  const parsed = parsePointer(text)
  if (parsed !== undefined) return parsed
  context.addIssue({ code: 'custom', message: 'must be a JSON Pointer such as /data/out_trade_no' })
  return z.NEVER
})
const type = z.string().min(1).max(IDENTITY_BYTES_MAX)
const place: z.ZodType<Place> = chosen((given): z.ZodType<Place> =>
  given === 'webhook-id' ? z.literal(given) : pointer,
)

const amount = chosen((given) =>
  has(given, 'major')
    ? z
        .strictObject({ major: pointer, decimals: z.int().min(0).max(DECIMALS_MAX) })
        .transform(({ major, decimals }) => ({ amount: major, decimals }))
    : z.strictObject({ minor: pointer }).transform(({ minor }) => ({ amount: minor, decimals: 0 })),
)
const currency: z.ZodType<Money['currency']> = chosen((given): z.ZodType<Money['currency']> =>
  typeof given === 'string' && given.startsWith('/')
    ? pointer
    : z
        .string()
        .regex(/^[A-Z]{3}$/, 'must be a currency of ISO 4217 such as CNY, or a JSON Pointer to one')
        .transform((constant) => ({ constant })),
)
const eventTime: z.ZodType<EventTime> = chosen((given): z.ZodType<EventTime> => {
  if (typeof given === 'string')
    return z.literal('webhook-timestamp', {
      error: 'must be "webhook-timestamp", or an object with rfc3339, unixSec or unixMs',
    })
  if (has(given, 'unixSec'))
    return z.strictObject({ unixSec: pointer }).transform((it) => ({ form: 'unixSec' as const, pointer: it.unixSec }))
  if (has(given, 'unixMs'))
    return z.strictObject({ unixMs: pointer }).transform((it) => ({ form: 'unixMs' as const, pointer: it.unixMs }))
  return z.strictObject({ rfc3339: pointer }).transform((it) => ({ form: 'rfc3339' as const, pointer: it.rfc3339 }))
})

const common = { when: oneOrMore(type, TYPES_MAX), reference: place, eventTime, detail: pointer.optional() }
const money = { amount, currency }
type RuleOf = z.ZodType<{ when: string[]; rule: Rule }>

/** What a bill says otherwise only its import says. */
type Mapped = Exclude<FactKind, 'bill_differs'>
const MAPPED = FACT_KINDS.filter((kind) => kind !== 'bill_differs')

/** What a rule needs depends on the fact that it states. */
const RULES: Readonly<Record<'payment' | 'refund' | 'ofPayment' | 'bare', (fact: Mapped) => RuleOf>> = {
  payment: (fact) =>
    z
      .strictObject({ fact: z.literal(fact), ...common, ...money })
      .transform(({ when, amount: sum, currency: of, ...rule }) => ({
        when,
        rule: { ...rule, money: { ...sum, currency: of } },
      })),
  refund: (fact) =>
    z
      .strictObject({
        ...{ fact: z.literal(fact), ...common, ...money, paymentRef: place },
        amountKind: z.enum(['individual', 'cumulative']),
      })
      .transform(({ when, amount: sum, currency: of, ...rule }) => ({
        when,
        rule: { ...rule, money: { ...sum, currency: of } },
      })),
  ofPayment: (fact) =>
    z
      .strictObject({ fact: z.literal(fact), ...common, paymentRef: place })
      .transform(({ when, ...rule }) => ({ when, rule })),
  bare: (fact) =>
    z.strictObject({ fact: z.literal(fact), ...common }).transform(({ when, ...rule }) => ({ when, rule })),
}
const NEEDS: Readonly<Record<Mapped, keyof typeof RULES>> = {
  payment_succeeded: 'payment',
  payment_failed: 'bare',
  refund_succeeded: 'refund',
  refund_failed: 'ofPayment',
  disputed: 'ofPayment',
  provider_closed: 'bare',
  shipment_completed: 'bare',
  fulfillment_failed: 'bare',
  goods_returned: 'bare',
}

const rule: RuleOf = chosen((given): RuleOf => {
  const fact = has(given, 'fact') ? (given as { fact: unknown }).fact : undefined
  const kind = MAPPED.find((known) => known === fact)
  if (kind !== undefined) return RULES[NEEDS[kind]](kind)
  return z.looseObject({ fact: z.enum(MAPPED) }).transform(() => z.NEVER)
})

const ours = oneOrMore(
  chosen((given): z.ZodType<string | number | boolean> =>
    typeof given === 'number' ? z.int() : typeof given === 'boolean' ? z.boolean() : z.string().max(IDENTITY_BYTES_MAX),
  ),
  20,
)
const recipient: z.ZodType<RecipientCheck[]> = z.record(z.string(), ours).transform((checks, context) =>
  Object.entries(checks).flatMap(([text, values]) => {
    const parsed = parsePointer(text)
    if (parsed !== undefined) return [{ pointer: parsed, ours: new Set(values.map(recipientKey)) }]
    context.addIssue({ code: 'custom', path: [text], message: 'must be a JSON Pointer such as /data/account' })
    return []
  }),
)

/** A mapping file, field by field; what two fields say together is checked by `contradictionsIn`. */
export const mappingShape = z.strictObject({
  type: pointer,
  outTradeNo: oneOrMore(pointer, POINTERS_MAX),
  recipient: recipient.default([]),
  ignore: z.array(type).max(TYPES_MAX).default([]),
  rules: z.array(rule).min(1).max(RULES_MAX),
})

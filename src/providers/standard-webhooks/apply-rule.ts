import type { Fact } from '../../orders/model.ts'
import { detailOf } from '../detail.ts'
import { isCurrency, isIdentity } from '../limits.ts'
import type { EventTime, Money, Place, Rule } from './mapping.ts'
import { minorOf, textOf, timeMsOf, WrittenNumber, type ReadValue } from './read-value.ts'

/** What a rule is applied to. */
interface Message {
  readonly read: ReadValue
  /** Of references. */
  readonly prefix: string
  readonly id: string
  /** Ten digits: when it was signed. */
  readonly timestamp: string
}

/** How a cumulative figure is written into its reference, so that no single refund's number may look like it. */
const FIGURE = /\/refunded\/\d+$/

/** The fact that a message proves, or the place of the field that is not as the mapping has it. */
export function applyRule(rule: Rule, message: Message): Fact | string {
  const number = identityAt(rule.reference, message)
  if (number === undefined || FIGURE.test(number)) return nameOf(rule.reference)
  const money = rule.money === undefined ? NO_MONEY : moneyAt(rule.money, message.read)
  if (typeof money === 'string') return money
  const figure = rule.amountKind === 'cumulative' ? `/refunded/${money.amountMinor}` : ''
  const providerRef = `${message.prefix}:${number}${figure}`
  if (!isIdentity(providerRef)) return nameOf(rule.reference)
  let paymentRef: string | null = null
  if (rule.paymentRef !== undefined) {
    paymentRef = `${message.prefix}:${identityAt(rule.paymentRef, message) ?? ''}`
    if (paymentRef === `${message.prefix}:` || !isIdentity(paymentRef)) return nameOf(rule.paymentRef)
  }
  const eventTimeMs = timeAt(rule.eventTime, message)
  if (eventTimeMs === undefined) return nameOfTime(rule.eventTime)
  return {
    eventType: rule.fact,
    providerRef,
    paymentRef,
    ...money,
    amountKind: rule.amountKind ?? 'none',
    eventTimeMs,
    detail: rule.detail === undefined ? null : detailOf(wordsOf(message.read(rule.detail))),
  }
}

const NO_MONEY = { amountMinor: 0, currency: '' }

function moneyAt({ amount, decimals, currency }: Money, read: ReadValue): typeof NO_MONEY | string {
  const amountMinor = minorOf(read(amount), decimals)
  if (amountMinor === undefined) return amount.text
  if ('constant' in currency) return { amountMinor, currency: currency.constant }
  const named = read(currency)
  const code = typeof named === 'string' && /^[A-Za-z]{3}$/.test(named) ? named.toUpperCase() : undefined
  return isCurrency(code) ? { amountMinor, currency: code } : currency.text
}

function identityAt(place: Place, { read, id }: Message): string | undefined {
  const text = place === 'webhook-id' ? id : textOf(read(place))
  return isIdentity(text) ? text : undefined
}

const timeAt = (time: EventTime, { read, timestamp }: Message): number | undefined =>
  time === 'webhook-timestamp' ? timeMsOf(timestamp, 'unixSec') : timeMsOf(read(time.pointer), time.form)

const nameOf = (place: Place) => (place === 'webhook-id' ? place : place.text)
const nameOfTime = (time: EventTime) => (time === 'webhook-timestamp' ? time : time.pointer.text)

const wordsOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'boolean' || value instanceof WrittenNumber ? String(value) : undefined

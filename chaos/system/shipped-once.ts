import { decoder } from '../checker/avro.ts'
import type { Capture } from '../checker/capture.ts'
import type { Verdict } from '../checker/check.ts'

/** An event in the worker's own database. */
export interface InboxRow {
  readonly eventId: string
  readonly state: string
  readonly reason: string | null
  readonly reference: string | null
}
/** What the carrier has really done. */
export interface Parcel {
  readonly what: string
  readonly eventId: string
  readonly reference: string
}

export const SHIPMENTS = 'fulfillment.shipment.v1'

const DONE_FOR: Readonly<Record<string, string>> = { ship: 'shipments', cancel: 'cancellations' }
/** Only a person can tell, or has to: the kit says so instead of guessing. */
const LEFT: ReadonlySet<string> = new Set(['unsettled', 'dead'])
const EXAMPLES_MAX = 10

/** O17: the carrier did what each visible event asks for once, and nothing else. */
export function shippedOnce(
  capture: Pick<Capture, 'about' | 'schemas' | 'output'>,
  { done, inbox }: { readonly done: readonly Parcel[]; readonly inbox: readonly InboxRow[] },
): Verdict['oracles'][number] {
  const decode = decoder(capture)
  const topic = capture.about.topicPrefix + SHIPMENTS
  const asked = new Map<string, { what: string; name: string }>()
  for (const record of capture.output.filter((one) => one.topic === topic)) {
    const { eventId = '', kind = '', merchant = '', outTradeNo = '' } = decode.message(record) ?? {}
    const what = DONE_FOR[kind]
    if (what !== undefined) asked.set(eventId, { what, name: `${kind} of ${merchant}/${outTradeNo}` })
  }
  const left = new Set(inbox.filter(({ state }) => LEFT.has(state)).map(({ eventId }) => eventId))
  const violated: Record<string, number> = {}
  const examples: string[] = []
  const report = (clause: string, what: string) => {
    violated[clause] = (violated[clause] ?? 0) + 1
    if (violated[clause] <= EXAMPLES_MAX) examples.push(`${clause}: ${what}`)
  }
  let undecided = 0
  // By what it is for, and not by its event: two events for one order would be two parcels.
  const parcels = Map.groupBy(done, ({ what, eventId }) => {
    const event = asked.get(eventId)
    return event?.what === what ? event.name : `${what} for ${eventId}`
  })
  for (const [name, some] of parcels)
    if (some.length > 1) report('done_twice', `${name}: ${some.map(({ reference }) => reference).join(' ')}`)
  for (const { what, eventId, reference } of done)
    if (asked.get(eventId)?.what !== what) report('done_unasked', `${what} ${reference} for ${eventId}`)
  const doneFor = new Set(done.map(({ what, eventId }) => `${what} ${eventId}`))
  for (const [eventId, { what, name }] of asked)
    if (!doneFor.has(`${what} ${eventId}`)) {
      if (left.has(eventId)) undecided += 1
      else report('not_done', `${name}: ${eventId}`)
    }
  return {
    ...{ id: 'O17', about: 'the carrier did what each visible event asks for once, or a person is asked' },
    ...{ examined: asked.size + done.length, violated, examples },
    excused: undecided === 0 ? {} : { left_to_a_person: undecided },
  }
}

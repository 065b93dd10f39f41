import { withBody, type Restored, type Seen } from './distortion.ts'
import { everyOrder, isObject, isSorted, JSON_STYLES, knownOrders, parsed } from './json-text.ts'

/** Deeper or longer texts are nobody's callback, and would take their time. */
const TEXT_CHARS_MAX = 65_536

export function* undoReprinted(seen: Seen): Generator<Restored> {
  const value = valueOf(seen)
  if (!isObject(value)) return
  for (const { how, print } of JSON_STYLES) yield withBody(seen, Buffer.from(print(value)), `it came ${how}`)
}

export function* undoReordered(seen: Seen): Generator<Restored> {
  const value = valueOf(seen)
  if (!isObject(value)) return
  for (const order of knownOrders(value))
    for (const { how, print } of JSON_STYLES) yield withBody(seen, Buffer.from(print(order)), orderOf(value, how))
}

/** All 86,400 orders of a WeChat Pay envelope, in two styles: some seconds. */
export function* undoAnyOrder(seen: Seen): Generator<Restored> {
  const value = valueOf(seen)
  if (!isObject(value)) return
  for (const { how, print } of JSON_STYLES.slice(0, 2))
    for (const order of everyOrder(value)) yield withBody(seen, Buffer.from(print(order)), orderOf(value, how))
}

/** A gateway put the body into an envelope of its own, as functions behind one get it, or into a JSON string. */
export function* undoWrapped(seen: Seen): Generator<Restored> {
  const text = seen.request.rawBody.toString()
  const value = text.length > TEXT_CHARS_MAX * 2 ? undefined : parsed(text)
  const inner = isObject(value) ? (value['body'] ?? value['rawBody'] ?? value['payload']) : value
  if (typeof inner === 'string') {
    yield withBody(seen, Buffer.from(inner), 'in a JSON string')
    yield withBody(seen, Buffer.from(inner, 'base64'), 'in base64')
  } else if (/^[A-Za-z0-9+/\s]{32,}={0,2}\s*$/.test(text))
    yield withBody(seen, Buffer.from(text, 'base64'), 'in base64')
}

const orderOf = (now: Record<string, unknown>, how: string) =>
  `${isSorted(now) ? 'by the alphabet now' : 'in another order now'}; it came ${how}`

function valueOf({ request }: Seen): unknown {
  return request.rawBody.length > TEXT_CHARS_MAX ? undefined : parsed(request.rawBody.toString())
}

import type { Capture, Row } from './checker/capture.ts'
import type { Verdict } from './checker/check.ts'
import { nameOf, placeOf, read, type Reading } from './checker/reading.ts'

export interface FirstViolation {
  readonly oracle: string
  readonly what: string
  /** The order that it is about, if it is about one. */
  readonly order: string | null
  /** From the senders to the workers, one line for each thing that is known of that order. */
  readonly path: readonly string[]
}

const LINES_MAX = 60
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const PLACE = /\S+-\d+@\d+/g

/** Of all that the checker found, what happened first, and its whole path: delivery, input, tables, output. */
export function firstViolation(capture: Capture, verdict: Verdict): FirstViolation | undefined {
  if (verdict.ok) return undefined
  const reading = read(capture)
  const find = finder(reading)
  const found = verdict.oracles.flatMap(({ id, examples }) =>
    examples.map((what) => {
      const order = find(what)
      const atMs = order === undefined ? Number.POSITIVE_INFINITY : beganMs(reading, order)
      return { oracle: id, what, order, atMs }
    }),
  )
  const first = found.toSorted((a, b) => a.atMs - b.atMs)[0]
  if (first === undefined) return undefined
  const { oracle, what, order } = first
  return { oracle, what, order: order ?? null, path: order === undefined ? [] : pathOf(reading, order) }
}

/** Which order a text is about: by its name, its number, the place of a record, or an event's id. */
function finder({ log, callbacks, messages, tables }: Reading) {
  const names = new Set<string>()
  const byPlace = new Map<string, string>()
  const byEvent = new Map<string, string>()
  for (const line of log) if ('outTradeNo' in line) names.add(nameOf(line))
  for (const { record, callback } of callbacks) {
    names.add(nameOf(callback))
    byPlace.set(placeOf(record), nameOf(callback))
  }
  for (const row of tables.events) byEvent.set(String(row['event_id']), nameOfRow(row))
  for (const { record, message } of messages) {
    const name = byEvent.get(message.eventId) ?? nameOf(message)
    byPlace.set(placeOf(record), name)
    if (!byEvent.has(message.eventId)) byEvent.set(message.eventId, name)
  }
  const byNumber = new Map([...names].map((name) => [name.slice(name.indexOf('/') + 1), name]))
  return (what: string): string | undefined => {
    const words = what.split(/[\s,:;]+/)
    return (
      words.find((word) => names.has(word)) ??
      first(what.match(PLACE), byPlace) ??
      first(what.match(UUID), byEvent) ??
      first(words, byNumber)
    )
  }
}
const first = (words: readonly string[] | null, names: ReadonlyMap<string, string>) =>
  words?.map((word) => names.get(word)).find((name) => name !== undefined)
const nameOfRow = (row: Row) => `${String(row['merchant'])}/${String(row['out_trade_no'] ?? row['key'])}`

/** What was sent of an order: under its name, or, where one callback tells of several, as what its records came from. */
function isOf({ callbacks }: Reading, order: string) {
  const requests = new Set(
    callbacks.filter(({ callback }) => nameOf(callback) === order).map(({ requestSha256 }) => requestSha256),
  )
  return (line: { merchant?: string; outTradeNo?: string | null; requestSha256?: string | null }) =>
    nameOf(line) === order || (typeof line.requestSha256 === 'string' && requests.has(line.requestSha256))
}

function beganMs(reading: Reading, order: string): number {
  const { sent, callbacks } = reading
  const times = [
    ...sent.filter(isOf(reading, order)).map(({ atMs }) => atMs),
    ...callbacks.filter(({ callback }) => nameOf(callback) === order).map(({ record }) => record.timestampMs),
  ]
  return Math.min(Number.POSITIVE_INFINITY, ...times)
}

function pathOf(reading: Reading, order: string): string[] {
  const { log, callbacks, messages, tables } = reading
  const row = tables.orders.find((one) => nameOfRow(one) === order)
  const ofOrder = (rows: readonly Row[]) => rows.filter((one) => one['order_id'] === row?.['id'])
  const at = (ms: number) => new Date(ms).toISOString()
  const isAbout = isOf(reading, order)
  const lines = [
    ...log.flatMap((line) => {
      if (!('outTradeNo' in line) || !isAbout(line)) return []
      const says = `${at(line.atMs)} ${line.heard} after ${Math.round(line.latencyMs)} ms`
      if (!('provider' in line)) return [`asked     ${line.line} ${says}`]
      const { provider, defect, status, gateway, requestSha256, facts } = line
      return [
        `delivery  ${says}: ${provider} ${line.line}, defect ${defect}, status ${status ?? '-'} by ${gateway}, sha256 ${requestSha256 ?? '-'}, ${JSON.stringify(facts ?? [])}`,
      ]
    }),
    ...callbacks.flatMap(({ record, callback, requestSha256 }) =>
      nameOf(callback) === order
        ? [
            `input     ${placeOf(record)} ${at(record.timestampMs)} ${callback.provider} sha256 ${requestSha256} ${JSON.stringify(callback.facts)}`,
          ]
        : [],
    ),
    ...(row === undefined ? ['row       orders: none'] : [`row       orders ${JSON.stringify(row)}`]),
    ...(['deliveries', 'facts', 'anomalies', 'commands'] as const).flatMap((table) =>
      ofOrder(tables[table]).map((one) => `row       ${table} ${JSON.stringify(one)}`),
    ),
    ...tables.events.filter((one) => nameOfRow(one) === order).map((one) => `row       events ${JSON.stringify(one)}`),
    ...messages.flatMap(({ record, message }) =>
      nameOf(message) === order
        ? [
            `output    ${placeOf(record)} ${at(record.timestampMs)} ${message.kind ?? ''} ${message.eventId} lane ${message.lane} number ${message.laneSeq}`,
          ]
        : [],
    ),
  ]
  return lines.length <= LINES_MAX ? lines : [...lines.slice(0, LINES_MAX), `… and ${lines.length - LINES_MAX} more`]
}

/** How printers of JSON differ. */
export interface JsonStyle {
  readonly how: string
  readonly print: (value: unknown) => string
}

const spaced = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${spaced(item)}`)
    .join(', ')}}`
}
const slashes = (json: string) => json.replaceAll('/', '\\/')
const ascii = (json: string) =>
  json.replace(/[\x7f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
const compact = (value: unknown) => JSON.stringify(value)

/** The likeliest first. All of them keep keys in their order. */
export const JSON_STYLES: readonly JsonStyle[] = [
  { how: 'without spaces', print: compact },
  { how: 'with its slashes escaped', print: (value) => slashes(compact(value)) },
  { how: 'with its Chinese as \\u escapes', print: (value) => ascii(compact(value)) },
  { how: 'with slashes and Chinese escaped', print: (value) => ascii(slashes(compact(value))) },
  { how: 'with a space after each comma and colon', print: spaced },
  { how: 'with spaces, and its Chinese as \\u escapes', print: (value) => ascii(spaced(value)) },
  { how: 'indented by two', print: (value) => JSON.stringify(value, null, 2) },
  { how: 'indented by four', print: (value) => JSON.stringify(value, null, 4) },
  { how: 'indented by tabs', print: (value) => JSON.stringify(value, null, '\t') },
]

/** In the order in which senders are known to write; a key that is not listed keeps its place behind. */
const KNOWN_ORDERS: readonly (readonly string[])[] = [
  // WeChat Pay v3, as public samples and captured callbacks have it.
  [
    'id',
    'create_time',
    'resource_type',
    'event_type',
    'summary',
    'resource',
    'original_type',
    'algorithm',
    'ciphertext',
    'associated_data',
    'nonce',
  ],
  [
    'id',
    'create_time',
    'event_type',
    'resource_type',
    'resource',
    'algorithm',
    'ciphertext',
    'nonce',
    'original_type',
    'associated_data',
    'summary',
  ],
  [
    'id',
    'create_time',
    'resource_type',
    'event_type',
    'resource',
    'original_type',
    'algorithm',
    'ciphertext',
    'associated_data',
    'nonce',
    'summary',
  ],
  // Reports of workers, and Standard Webhooks in general.
  ['type', 'timestamp', 'data', 'out_trade_no', 'event_id', 'reference', 'reason'],
  // Stripe: these first, then by the alphabet.
  ['id', 'object'],
]

export function* knownOrders(value: unknown): Generator {
  for (const order of KNOWN_ORDERS) yield ordered(value, (key) => order.indexOf(key))
  yield ordered(value, (key) => ['id', 'object'].indexOf(key), true)
}

/** The same value with the keys of every object sorted; -1 ranks last. */
function ordered(value: unknown, rank: (key: string) => number, thenByName = false): unknown {
  if (Array.isArray(value)) return value.map((item) => ordered(item, rank, thenByName))
  if (typeof value !== 'object' || value === null) return value
  const place = (key: string) => (rank(key) === -1 ? Infinity : rank(key))
  const entries = Object.entries(value).sort(([a], [b]) => {
    if (place(a) !== place(b)) return place(a) - place(b)
    return thenByName ? (a < b ? -1 : 1) : 0
  })
  return Object.fromEntries(entries.map(([key, item]) => [key, ordered(item, rank, thenByName)]))
}

/** Six keys with five in one of them, as WeChat Pay's envelope has, are 86,400. */
const ORDERS_MAX = 100_000

/** Every order of the keys of an object and of the objects in it; nothing if they are too many to be tried. */
export function* everyOrder(value: unknown): Generator {
  if (!isObject(value)) return
  const entries = Object.entries(value)
  const inner = entries.filter(([, item]) => isObject(item))
  const [within] = inner
  const orders = factorial(entries.length) * factorial(Object.keys(within?.[1] ?? {}).length)
  if (inner.length > 1 || orders > ORDERS_MAX) return
  const choices = within === undefined ? [undefined] : [...permutations(Object.entries(within[1] as object))]
  for (const choice of choices)
    for (const order of permutations(entries))
      yield Object.fromEntries(
        order.map(([key, item]) => [key, key === within?.[0] ? Object.fromEntries(choice ?? []) : item]),
      )
}

const factorial = (count: number): number => (count <= 1 ? 1 : count * factorial(count - 1))

export function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length <= 1) yield [...items]
  for (const [at, item] of items.length <= 1 ? [] : items.entries())
    for (const rest of permutations(items.toSpliced(at, 1))) yield [item, ...rest]
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether the keys of an object, if they are more than three, stand by the alphabet, as a printer that sorts puts them. */
export const isSorted = (value: unknown): boolean =>
  isObject(value) &&
  Object.keys(value).length > 3 &&
  Object.keys(value).every((key, at, keys) => at === 0 || (keys[at - 1] ?? '') < key)

/** Printers and sorters of JSON call themselves, level by level; no callback has a tenth of these. */
const DEPTH_MAX = 100

/** Undefined if the text is no JSON, or nested deeper than any that is sent. */
export function parsed(text: string): unknown {
  try {
    const value = JSON.parse(text) as unknown
    return isDeeper(value, DEPTH_MAX) ? undefined : value
  } catch {
    return undefined
  }
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1)))

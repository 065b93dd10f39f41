import { join } from 'node:path'
import { loadQueryClients } from '../../../providers/query-clients.ts'
import type { BillPlace, QueryClient } from '../../../providers/query.ts'
import { askPatiently, BILL_PATIENCE } from '../../ask-patiently.ts'
import { DamagedBill } from '../open-bill.ts'
import { download, NotFetched, sha1Of } from './download.ts'

export interface FetchRequest {
  readonly merchant: string
  /** Who may have it, by name: the first that there are keys for. */
  readonly asked: readonly string[]
  readonly day: string
  /** Where the file is put. */
  readonly dir: string
  /** By provider; left out: as the directories say. */
  readonly clients?: ReadonlyMap<string, QueryClient>
  readonly queryKeysDir: string
  readonly merchantsDir: string
}

export type FetchedBill = { readonly kind: 'fetched'; readonly path: string } | NoBill
/** `no_keys`: nobody may be asked about this merchant. `detail` holds no secret. */
export interface NoBill {
  readonly kind: 'no_keys' | 'not_given' | 'not_fetched'
  readonly detail: string
}

const ATTEMPTS_MAX = 4
/** There is nothing else to be done meanwhile, and a provider may say a minute more than once. */
const PATIENCE = { ...BILL_PATIENCE, allMsMax: 300_000 }

/**
 * Fetches the bill of a day from the provider that made it, with the keys that the reconciler asks with: where it is
 * comes signed, and the file is checked against the digest that was signed, where there is one.
 * @throws BadConfiguration
 */
export async function fetchBill(request: FetchRequest): Promise<FetchedBill> {
  const { merchant, asked, day, dir, queryKeysDir, merchantsDir } = request
  const clients = request.clients ?? loadQueryClients({ queryKeysDir, merchantsDir }).get(merchant)
  const askBill = asked.map((name) => clients?.get(name)?.askBill).find((ask) => ask !== undefined)
  if (askBill === undefined)
    return { kind: 'no_keys', detail: `QUERY_KEYS_DIR has no section ${asked[0] ?? ''} for ${merchant}` }
  // An address holds for half a minute: it is fetched at once, and asked for again if that fails.
  for (let attempt = 1; ; attempt++) {
    const place = await askPatiently((signal) => askBill(day, signal), PATIENCE, new AbortController().signal)
    if (place.kind !== 'ready') return { kind: 'not_given', detail: wordsOf(place) }
    const path = join(dir, `bill-${attempt}`)
    try {
      await download(place, path)
      if (place.sha1 === null || (await sha1Of(path)) === place.sha1) return { kind: 'fetched', path }
      throw new NotFetched('it is not the file that the provider signed for: its SHA-1 is another')
    } catch (error) {
      if (!(error instanceof NotFetched || error instanceof DamagedBill)) throw error
      if (attempt === ATTEMPTS_MAX) return { kind: 'not_fetched', detail: error.message }
    }
  }
}

function wordsOf(place: Exclude<BillPlace, { readonly kind: 'ready' }>): string {
  if (place.kind === 'try_later') return `the provider could not be asked: ${place.reason}`
  if (place.kind !== 'refused') return 'the provider does not know of it'
  return `the provider gives none, or its answer is refused: ${place.reason}${place.field === undefined ? '' : ` ${place.field}`}`
}

import type { Log } from '../runtime/log.ts'
import type { QueryClients } from './query.ts'
import type { LoadedQueryClients } from './query-clients.ts'
import { isSame, lookAgain, type SeenFiles } from './seen-files.ts'

export interface QueryClientsWatch {
  /** Always the last set that was loaded whole. */
  readonly clients: () => QueryClients
  /** One look at the files; whoever calls it waits for it before the next. */
  readonly look: () => Promise<void>
}

/** A refusal may also be the machine's (too many open files), which no file shows: so it is tried again now and then. */
const LOOKS_UNTIL_RETRY = 12
const PROBLEMS_LOGGED_MAX = 100

/**
 * Keeps the clients as both folders are, as the gateway keeps its merchants (`watch-merchants.ts`): looked at and not
 * watched, loaded once nothing has changed between two looks, and as a whole: a set with a mistake is refused, and the
 * old one stays.
 */
export function watchQueryClients(
  first: LoadedQueryClients,
  log: Log,
  onReload: (outcome: 'loaded' | 'refused') => void,
): QueryClientsWatch {
  const { queryKeysDir, reload } = first
  let current = first.clients
  let decided: SeenFiles = first.seen
  let paths = [...first.seen.keys()]
  let changing: SeenFiles | undefined
  let refusal: { readonly problems: string; looks: number } | undefined

  const load = async (): Promise<void> => {
    const result = reload()
    paths = [...result.seen.keys()]
    const now = await lookAgain(queryKeysDir, paths)
    // Changed while it was read: nothing is decided, and the next look that finds it at rest loads it.
    if (!isSame(now, result.seen)) {
      changing = now
      return
    }
    decided = result.seen
    changing = undefined
    onReload(result.kind)
    if (result.kind === 'loaded') {
      current = result.clients
      refusal = undefined
      log.info({ merchants: current.size }, 'query keys reloaded')
      return
    }
    const problems = result.problems.join('\n')
    if (refusal?.problems !== problems)
      log.error(
        { problems: result.problems.slice(0, PROBLEMS_LOGGED_MAX), count: result.problems.length },
        'query keys not reloaded: what was loaded before stays as it is',
      )
    refusal = { problems, looks: 0 }
  }

  return {
    clients: () => current,
    look: async () => {
      const now = await lookAgain(queryKeysDir, paths)
      if (isSame(now, decided)) {
        changing = undefined
        if (refusal !== undefined && ++refusal.looks >= LOOKS_UNTIL_RETRY) await load()
      } else if (changing !== undefined && isSame(now, changing)) await load()
      else changing = now
    },
  }
}

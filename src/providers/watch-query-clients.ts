import type { Log } from '../runtime/log.ts'
import type { QueryClients } from './query.ts'
import type { LoadedQueryClients } from './query-clients.ts'
import { watchSet, type ReloadOutcome, type SetWatch } from './watch-set.ts'

/** Keeps the clients as the files of both folders are: of the keys, and of the merchants beside them. */
export function watchQueryClients(
  { clients, seen, queryKeysDir, reload }: LoadedQueryClients,
  log: Log,
  onReload: (outcome: ReloadOutcome) => void,
  onUnsettled: (isUnsettled: boolean) => void,
): Pick<SetWatch<QueryClients>, 'current' | 'look'> {
  return watchSet(
    { set: clients, seen },
    {
      ...{ what: 'query keys', directory: queryKeysDir, log, onReload, onUnsettled },
      load: () => {
        const result = reload()
        return result.kind === 'loaded' ? { ...result, set: result.clients } : result
      },
      news: (_, { size }) => ({ merchants: size }),
    },
  )
}

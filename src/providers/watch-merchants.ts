import { describeError, type Log } from '../runtime/log.ts'
import { reloadMerchants, type LoadedMerchants, type Merchants } from './merchants.ts'
import { isSame, lookAgain, type SeenFiles } from './seen-files.ts'

export type ReloadOutcome = 'loaded' | 'refused'

export interface MerchantsWatch {
  /** Always the last set that was loaded whole. Whoever holds a provider that it found keeps that one. */
  readonly merchants: Merchants
  /** Loads at once, without waiting until the files rest: somebody says that they are complete. */
  readonly reload: () => Promise<void>
  /** One look, as the interval does it. */
  readonly look: () => Promise<void>
  readonly stop: () => void
}

export interface WatchOptions {
  readonly directory: string
  /** Between two looks; 0: only `reload` loads. */
  readonly intervalMs: number
  readonly log: Log
  readonly onReload: (outcome: ReloadOutcome) => void
  /** True: the files have changed for so long that nothing could be loaded; false once that is over. */
  readonly onUnsettled: (isUnsettled: boolean) => void
}

/** A refusal may also be the machine's (too many open files), which no file shows: so it is tried again now and then. */
const LOOKS_UNTIL_RETRY = 12
/** At 5 s between them a minute: whoever writes a file that often never has a new key taken. */
const LOOKS_UNTIL_UNSETTLED = 12
const LOADS_IN_A_ROW_MAX = 3
const NAMES_LOGGED_MAX = 20
const PROBLEMS_LOGGED_MAX = 100

/**
 * Keeps merchants as their files are. The files are looked at and not watched: a mounted secret changes by a symbolic
 * link to another directory, of which inotify says nothing. They are loaded once they have not changed for an interval,
 * as a copy in progress looks like a mistake; the load must have seen what is there after it. A set with a mistake is
 * refused as a whole, and the old one stays.
 */
export function watchMerchants(first: LoadedMerchants, options: WatchOptions): MerchantsWatch {
  const { directory, log, onReload, onUnsettled } = options
  let current = first
  /** What the last load saw, whatever came of it; the paths are looked at with every look. */
  let decided: SeenFiles = first.seen
  let paths = [...first.seen.keys()]
  let changing: SeenFiles | undefined
  let refusal: { problems: string; looks: number } | undefined
  /** Looks in a row at files that are not those decided about, and not yet those of the look before. */
  let unsettledLooks = 0
  let last = Promise.resolve()

  const settled = () => {
    if (unsettledLooks >= LOOKS_UNTIL_UNSETTLED) onUnsettled(false)
    unsettledLooks = 0
  }
  const unsettled = () => {
    if (++unsettledLooks === LOOKS_UNTIL_UNSETTLED) starved()
  }
  const starved = () => {
    unsettledLooks = Math.max(unsettledLooks, LOOKS_UNTIL_UNSETTLED)
    onUnsettled(true)
    log.warn('merchants not reloaded yet: their files change all the time')
  }

  /** @returns false if the files changed meanwhile, so that nothing was decided */
  const load = async (): Promise<boolean> => {
    const result = await reloadMerchants(directory, current)
    paths = [...result.seen.keys()]
    const now = await lookAgain(directory, paths)
    if (!isSame(now, result.seen)) {
      changing = now
      unsettled()
      return false
    }
    decided = result.seen
    changing = undefined
    settled()
    onReload(result.kind)
    if (result.kind === 'refused') {
      const problems = result.problems.join('\n')
      if (refusal?.problems !== problems)
        log.error(
          { problems: result.problems.slice(0, PROBLEMS_LOGGED_MAX), count: result.problems.length },
          'merchants not reloaded: what was loaded before stays as it is',
        )
      refusal = { problems, looks: 0 }
    } else {
      const { names } = result.merchants
      const added = names.filter((name) => !current.names.includes(name))
      const removed = current.names.filter((name) => !names.includes(name))
      current = result.merchants
      refusal = undefined
      log.info(
        {
          ...{ merchants: names.length, added: added.slice(0, NAMES_LOGGED_MAX) },
          removed: removed.slice(0, NAMES_LOGGED_MAX),
        },
        'merchants reloaded',
      )
    }
    return true
  }

  const look = async () => {
    const now = await lookAgain(directory, paths)
    if (isSame(now, decided)) {
      changing = undefined
      settled()
      if (refusal !== undefined && ++refusal.looks >= LOOKS_UNTIL_RETRY) await load()
    } else if (changing !== undefined && isSame(now, changing)) await load()
    else {
      changing = now
      unsettled()
    }
  }

  const reload = async () => {
    refusal = undefined
    for (let loads = 0; loads < LOADS_IN_A_ROW_MAX; loads++) if (await load()) return
    starved()
  }

  /** One after the other; a surprise is logged, and the next look is another chance. */
  const queue = (work: () => Promise<void>) => () =>
    (last = last
      .then(work)
      .catch((error: unknown) => log.error({ error: describeError(error) }, 'merchants not looked at')))

  const step = queue(look)
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const wait = () => {
    if (options.intervalMs === 0 || stopped) return
    timer = setTimeout(() => void step().then(wait), options.intervalMs).unref()
  }
  wait()
  return {
    merchants: {
      get names() {
        return current.names
      },
      find: (provider, merchant) => current.find(provider, merchant),
    },
    reload: queue(reload),
    look: step,
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

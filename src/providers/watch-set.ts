import type { Log } from '../runtime/log.ts'
import { isSame, lookAgain, type SeenFiles } from './seen-files.ts'

export type ReloadOutcome = 'loaded' | 'refused'

/** One load of a set of files: what it looked at, and what came of it. Of a refused one nothing is taken. */
export type SetLoad<T> = { readonly seen: SeenFiles } & (
  { readonly kind: 'loaded'; readonly set: T } | { readonly kind: 'refused'; readonly problems: readonly string[] }
)

export interface SetOptions<T> {
  /** What is watched, for the log: `merchants`. */
  readonly what: string
  readonly directory: string
  readonly log: Log
  /** @param before the set in use */
  readonly load: (before: T) => SetLoad<T> | Promise<SetLoad<T>>
  readonly onReload: (outcome: ReloadOutcome) => void
  /** True: the files have changed for so long that nothing could be loaded; false once that is over. */
  readonly onUnsettled: (isUnsettled: boolean) => void
  /** What the log says of a set that took the place of another. */
  readonly news: (before: T, after: T) => object
}

export interface SetWatch<T> {
  /** Always the last set that was loaded whole. */
  readonly current: () => T
  /** One look at the files; whoever calls it waits for it before the next. */
  readonly look: () => Promise<void>
  /** Loads without waiting until the files rest. */
  readonly reload: () => Promise<void>
}

/** A refusal may also be the machine's (too many open files), which no file shows: so it is tried again now and then. */
const LOOKS_UNTIL_RETRY = 12
/** At 5 s between them a minute: whoever writes a file that often never has a new key taken. */
const LOOKS_UNTIL_UNSETTLED = 12
const LOADS_IN_A_ROW_MAX = 3
const PROBLEMS_LOGGED_MAX = 100

/**
 * Keeps a set as its files are. The files are looked at and not watched: a mounted secret changes by a symbolic link to
 * another directory, of which inotify says nothing. They are loaded once they have not changed between two looks, as a
 * copy in progress looks like a mistake; the load must have seen what is there after it. A set with a mistake is refused
 * as a whole, and the old one stays.
 */
export function watchSet<T>(first: { readonly set: T; readonly seen: SeenFiles }, options: SetOptions<T>): SetWatch<T> {
  const { what, directory, log, onReload, onUnsettled } = options
  let current = first.set
  /** What the last load saw, whatever came of it; the paths are looked at with every look. */
  let decided: SeenFiles = first.seen
  let paths = [...first.seen.keys()]
  let changing: SeenFiles | undefined
  let refusal: { readonly problems: string; looks: number } | undefined
  /** Looks in a row at files that are not those decided about, and not yet those of the look before. */
  let unsettledLooks = 0

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
    log.warn(`${what} not reloaded yet: their files change all the time`)
  }

  const refuse = (found: readonly string[]) => {
    const problems = found.join('\n')
    if (refusal?.problems !== problems)
      log.error(
        { problems: found.slice(0, PROBLEMS_LOGGED_MAX), count: found.length },
        `${what} not reloaded: what was loaded before stays as it is`,
      )
    refusal = { problems, looks: 0 }
  }

  /** @returns false if the files changed meanwhile, so that nothing was decided */
  const load = async (): Promise<boolean> => {
    const result = await options.load(current)
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
    if (result.kind === 'refused') refuse(result.problems)
    else {
      const before = current
      current = result.set
      refusal = undefined
      log.info(options.news(before, current), `${what} reloaded`)
    }
    return true
  }

  return {
    current: () => current,
    look: async () => {
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
    },
    reload: async () => {
      refusal = undefined
      for (let loads = 0; loads < LOADS_IN_A_ROW_MAX; loads++) if (await load()) return
      starved()
    },
  }
}

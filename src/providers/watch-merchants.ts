import { describeError } from '../runtime/log.ts'
import { reloadMerchants, type LoadedMerchants, type Merchants } from './merchants.ts'
import { watchSet, type SetOptions } from './watch-set.ts'

export interface MerchantsWatch {
  /** Always the last set that was loaded whole. Whoever holds a provider that it found keeps that one. */
  readonly merchants: Merchants
  /** Loads at once, without waiting until the files rest: somebody says that they are complete. */
  readonly reload: () => Promise<void>
  /** One look, as the interval does it. */
  readonly look: () => Promise<void>
  readonly stop: () => void
}

export interface WatchOptions extends Pick<
  SetOptions<LoadedMerchants>,
  'directory' | 'log' | 'onReload' | 'onUnsettled'
> {
  /** Between two looks; 0: only `reload` loads. */
  readonly intervalMs: number
}

const NAMES_LOGGED_MAX = 20

/** Keeps merchants as their files are, looked at now and then, or when somebody says that they are complete. */
export function watchMerchants(first: LoadedMerchants, options: WatchOptions): MerchantsWatch {
  const { directory, log } = options
  const watch = watchSet<LoadedMerchants>(
    { set: first, seen: first.seen },
    {
      ...{ what: 'merchants', directory, log, onReload: options.onReload, onUnsettled: options.onUnsettled },
      load: async (before) => {
        const result = await reloadMerchants(directory, before)
        return result.kind === 'loaded' ? { ...result, set: result.merchants } : result
      },
      news: ({ names: before }, { names }) => ({
        merchants: names.length,
        added: names.filter((name) => !before.includes(name)).slice(0, NAMES_LOGGED_MAX),
        removed: before.filter((name) => !names.includes(name)).slice(0, NAMES_LOGGED_MAX),
      }),
    },
  )
  let last = Promise.resolve()

  /** One after the other; a surprise is logged, and the next look is another chance. */
  const queue = (work: () => Promise<void>) => () =>
    (last = last
      .then(work)
      .catch((error: unknown) => log.error({ error: describeError(error) }, 'merchants not looked at')))

  const step = queue(watch.look)
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
        return watch.current().names
      },
      find: (provider, merchant) => watch.current().find(provider, merchant),
    },
    reload: queue(watch.reload),
    look: step,
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

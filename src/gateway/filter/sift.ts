import type { VerifiedMessage } from '../../providers/provider.ts'
import type { Source } from '../../schemas/callback.ts'
import { factKeys } from './fact-keys.ts'
import type { RepeatFilter } from './repeat-filter.ts'

/**
 * Calls one of the two, once: `repeat` if all that a verified callback states is known to be in Kafka, else `news`,
 * with what is to be called when it is on every in-sync replica.
 */
export type Sift = (
  target: { readonly provider: string; readonly merchant: string; readonly source: Source },
  messages: readonly VerifiedMessage[],
  repeat: () => void,
  news: (acked: () => void) => void,
) => void

const nothing = () => undefined
export const siftNothing: Sift = (_target, _messages, _repeat, news) => news(nothing)

export interface SiftOptions {
  /** As of `factKeys`; undefined: not sure, so all is news and nothing is remembered. */
  readonly scope: () => string | undefined
  readonly onRepeat: (provider: string) => void
  readonly onUnsure: () => void
}

export function createSift(
  filter: Pick<RepeatFilter, 'ask' | 'remember'>,
  { scope, onRepeat, onUnsure }: SiftOptions,
): Sift {
  return (target, messages, repeat, news) => {
    const within = scope()
    if (within === undefined && target.source === 'callback') onUnsure()
    const keys = within === undefined ? undefined : factKeys(within, target, messages)
    if (keys === undefined) {
      news(nothing)
      return
    }
    filter.ask(keys, (known) => {
      if (known) {
        onRepeat(target.provider)
        repeat()
      } else news(() => filter.remember(keys))
    })
  }
}

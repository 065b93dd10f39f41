import type { Host } from './queue.ts'
import type { Scheduler } from './scheduler.ts'

/** What one request meets: it is done after its sender has given it up, or done and not answered. */
export interface Fate {
  readonly kind: 'late' | 'lost'
  /** It has come so. */
  readonly done: () => void
}

/** What becomes of a certain request of a host, instead of what the weather would do with it. */
export interface Fates {
  /** @param isOfThisStep only a request that is sent before anything else happens: it follows from what runs now */
  readonly ofNext: (host: Host, fate: Fate, isOfThisStep: boolean) => void
  /** Of the one that was sent last, if it is on its way. */
  readonly ofLast: (host: Host, fate: Fate) => void
  /** For whoever sends: what the request meets. */
  readonly take: (host: Host) => Fate | undefined
  /** For whoever sends: how the request hears of its fate while it is on its way. */
  readonly sent: (host: Host, meet: (fate: Fate) => void) => void
}

export function createFates(scheduler: Scheduler): Fates {
  const next = new Map<Host, { readonly fate: Fate; readonly step: number | undefined }>()
  const last = new Map<Host, { readonly meet: (fate: Fate) => void; readonly step: number }>()
  return {
    ofNext: (host, fate, isOfThisStep) =>
      void next.set(host, { fate, step: isOfThisStep ? scheduler.steps() : undefined }),
    ofLast: (host, fate) => {
      const found = last.get(host)
      if (found?.step === scheduler.steps()) found.meet(fate)
    },
    take: (host) => {
      const found = next.get(host)
      if (found === undefined) return undefined
      next.delete(host)
      return found.step === undefined || found.step === scheduler.steps() ? found.fate : undefined
    },
    sent: (host, meet) => void last.set(host, { meet, step: scheduler.steps() }),
  }
}

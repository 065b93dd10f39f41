import { BadConfiguration } from '../runtime/config.ts'
import type { TopicAdmin } from '../runtime/kafka/topic-admin.ts'
import { describeError, type Log } from '../runtime/log.ts'
import type { TopicOptions } from '../schemas/check-topics.ts'
import { checkTopology } from './check-topology.ts'

export interface TopologyWatch {
  /** Looks now, unless a look is under way. */
  readonly look: () => void
  readonly stop: () => void
}

/** Checks the topics again every minute, as somebody may change them; what only a person can put right is fatal. */
export function watchTopology(
  admin: Pick<TopicAdmin, 'describeTopics'>,
  options: Required<TopicOptions>,
  { onFatal, log, intervalMs = 60_000 }: { onFatal: (error: Error) => void; log: Log; intervalMs?: number },
): TopologyWatch {
  let looking = false
  const look = () => {
    if (looking) return
    looking = true
    checkTopology(admin, options)
      .catch((error: unknown) => {
        if (error instanceof BadConfiguration) onFatal(error)
        else log.warn({ error: describeError(error) }, 'topics not checked')
      })
      .finally(() => (looking = false))
  }
  const timer = setInterval(look, intervalMs).unref()
  return { look, stop: () => clearInterval(timer) }
}

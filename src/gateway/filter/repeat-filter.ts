import type { Log } from '../../runtime/log.ts'
import { keepRedisLink, type Redis } from './redis-link.ts'

/** Knows facts that are in Kafka; forgetting any of them is harmless. */
export interface RepeatFilter {
  /** Calls `then` exactly once, not before `ask` has returned: true only if every key is known. */
  readonly ask: (keys: readonly string[], then: (known: boolean) => void) => void
  /** Only for facts whose records are on every in-sync replica. */
  readonly remember: (keys: readonly string[]) => void
  readonly close: () => Promise<void>
}

export interface FilterOptions {
  readonly url: string
  readonly log: Log
  readonly onUp: (up: boolean) => void
  readonly onFailure: (reason: FilterFailure) => void
  /** How long an answer of Redis is waited for. */
  readonly answerMsMax: number
}

/**
 * Why Redis was no help: it is away; it gave no answer in time; it refused to answer; it refused to remember; or it was
 * not asked, as Kafka has not said for a while which topic its keys would be about.
 */
export const FILTER_FAILURES = ['away', 'late', 'refused', 'not_remembered', 'unsure'] as const
export type FilterFailure = (typeof FILTER_FAILURES)[number]

/** WeChat Pay and Alipay repeat for a day and a little; what comes later meets the dedupe in Postgres. */
const KEEP_SEC = 48 * 3_600
/** In a row; then the connection is given up, so that a frozen Redis costs three waits and not one each time. */
const LATE_MAX = 3
const KNOWN = '1'
/** Of different slots: a node of a Redis Cluster refuses such a question, which is what ours are like. */
const APART = ['pay_idempotent:{a}', 'pay_idempotent:{b}']
const OF_A_CLUSTER = /\b(CROSSSLOT|MOVED|ASK|CLUSTERDOWN)\b/
const NO_CLUSTER =
  'REDIS_URL names a node of a Redis Cluster, which does not answer about keys of several slots at once: ' +
  'name a Redis without cluster mode, or unset REDIS_URL'

interface Question {
  readonly keys: readonly string[]
  readonly then: (known: boolean) => void
}

/**
 * Whoever asks in one turn of the event loop is answered by one MGET. Anything but a prompt and clear answer means
 * unknown: then the callback goes to Kafka like the first, and the dedupe in Postgres finds it.
 */
export function createRepeatFilter(options: FilterOptions): RepeatFilter {
  const { url, log, onUp, onFailure, answerMsMax } = options
  const probe = async (redis: Redis) => {
    try {
      await inTime(redis.send(['MGET', ...APART]), answerMsMax)
    } catch (error) {
      throw OF_A_CLUSTER.test(String(error)) ? new Error(NO_CLUSTER, { cause: error }) : error
    }
  }
  const link = keepRedisLink({ url, log, probe, onChange: onUp })
  let waiting: Question[] = []
  let late = 0

  const flush = () => {
    const questions = waiting
    waiting = []
    const redis = link.redis()
    if (redis === undefined) {
      onFailure('away')
      for (const { then } of questions) then(false)
      return
    }
    const keys = questions.flatMap((question) => question.keys)
    inTime(redis.send(['MGET', ...keys]), answerMsMax).then(
      (values) => {
        late = 0
        answer(questions, Array.isArray(values) && values.length === keys.length ? values : [])
      },
      (error: unknown) => {
        const isLate = error instanceof Late
        onFailure(isLate ? 'late' : 'refused')
        if (!isLate || ++late >= LATE_MAX) {
          late = 0
          link.giveUp(redis, error)
        }
        answer(questions, [])
      },
    )
  }

  return {
    ask: (keys, then) => {
      // A microtask runs when all callbacks of this turn have asked.
      if (waiting.push({ keys, then }) === 1) queueMicrotask(flush)
    },
    remember: (keys) => {
      const redis = link.redis()
      if (redis === undefined) return
      for (const key of keys)
        redis.send(['SET', key, KNOWN, 'NX', 'EX', String(KEEP_SEC)]).catch((error: unknown) => {
          onFailure('not_remembered')
          // A primary that has become a replica: the address leads to another by now.
          if (String(error).includes('READONLY')) link.giveUp(redis, error)
        })
    },
    close: link.close,
  }
}

function answer(questions: readonly Question[], values: readonly unknown[]): void {
  let at = 0
  for (const { keys, then } of questions) {
    const known = keys.length > 0 && keys.every((_, index) => values[at + index] === KNOWN)
    at += keys.length
    then(known)
  }
}

class Late extends Error {
  override readonly name = 'Late'
}

/** An answer that waits in the socket while this process was busy is in time: sockets are read before the immediate. */
function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new Late(`no answer within ${ms} ms`))), ms)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

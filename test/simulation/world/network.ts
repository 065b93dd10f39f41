import { createFates, type Fate, type Fates } from './fates.ts'
import type { Host } from './queue.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'

/** What may go wrong between a request and its answer; each a probability. */
export interface Weather {
  /** Never arrives; the caller times out. */
  lostRequest: number
  /** It is done, and the caller times out. */
  lostAnswer: number
  /** The caller times out first; the request arrives after that. */
  lateRequest: number
  /** A few hundred milliseconds, so that others overtake. */
  slow: number
}
export const CALM: Weather = { lostRequest: 0, lostAnswer: 0, lateRequest: 0, slow: 0 }

export interface Network {
  /** One way. */
  readonly latencyMs: () => number
  /**
   * A request to a server and its answer, each a step of its own.
   * @param apply what the server does; it may throw, which is its answer
   * @param timeout the caller's error when no answer came
   */
  readonly call: <T>(host: Host, what: string, apply: () => T, timeout: () => Error) => Promise<T>
  weather: Weather
  readonly fates: Fates
}

/** kafkajs gives a request up after 10 s here (`runtime/kafka/connection.ts`). */
export const REQUEST_MS_MAX = 10_000
const LATE_MS_MAX = 20_000

/** @param onWeather hears what of it a request has met */
export function createNetwork(
  scheduler: Scheduler,
  random: Random,
  onWeather: (what: keyof Weather) => void = () => undefined,
): Network {
  const fates = createFates(scheduler)
  const network: Network = {
    weather: { ...CALM },
    fates,
    latencyMs: () => {
      if (random.chance(network.weather.slow)) {
        onWeather('slow')
        return random.next() * 400
      }
      return 0.1 + random.next() * (random.chance(0.1) ? 12 : 1.5)
    },
    call: (host, what, apply, timeout) =>
      new Promise((resolve, reject) => {
        const { weather } = network
        const answer = (settle: () => void) => void scheduler.at(network.latencyMs(), host, `${what} answered`, settle)
        const run = (isHeard: boolean) => {
          try {
            const value = apply()
            if (isHeard) answer(() => resolve(value))
          } catch (error) {
            if (isHeard) answer(() => reject(error instanceof Error ? error : new Error(String(error))))
          }
        }
        const chance = random.next()
        const giveUp = () =>
          void scheduler.at(REQUEST_MS_MAX * random.next(), host, `${what} timed out`, () => reject(timeout()))
        const arriveLate = (done: () => void) => {
          const waitMs = random.next() * 200
          scheduler.at(waitMs, host, `${what} given up`, () => reject(timeout()))
          scheduler.at(waitMs + random.next() * random.next() * LATE_MS_MAX, undefined, `${what} late`, () => {
            run(false)
            done()
          })
        }
        const loseAnswer = (done: () => void) => {
          scheduler.at(network.latencyMs(), undefined, what, () => {
            run(false)
            done()
          })
          giveUp()
        }
        const fate = fates.take(host)
        if (fate !== undefined) {
          if (fate.kind === 'late') arriveLate(fate.done)
          else loseAnswer(fate.done)
          return
        }
        if (chance < weather.lostRequest) {
          onWeather('lostRequest')
          giveUp()
          return
        }
        const lost = chance - weather.lostRequest
        if (lost < weather.lostAnswer) {
          loseAnswer(() => onWeather('lostAnswer'))
          return
        }
        if (lost - weather.lostAnswer < weather.lateRequest) {
          arriveLate(() => onWeather('lateRequest'))
          return
        }
        let met: Fate | undefined
        scheduler.at(network.latencyMs(), undefined, what, () => {
          run(met === undefined)
          met?.done()
          if (met?.kind === 'lost') giveUp()
        })
        fates.sent(host, (given) => {
          met = given
          if (given.kind === 'late') scheduler.at(0, host, `${what} given up`, () => reject(timeout()))
        })
      }),
  }
  return network
}

import type { About } from './checker/capture.ts'

/** What a run is held against, a small one as well. */
export const LIMITS: About['limits'] = {
  /** A gateway has 4 s from a request's first byte; the rest is the way there and back through a proxy, as a sender sees it. */
  answerMsMax: 4_250,
  recoveryMsP95: 30_000,
  /** In flight: what a gateway lets in. Unsent: the events of one batch of a lane at its largest. */
  samplesMax: {
    ...{ rss_bytes: 600_000_000, handles: 1_000, in_flight: 4_096, unsent: 5_000 },
    /** The api's default, the largest; and who waits for one gives up after 2 s, at some tens of requests a second. */
    ...{ pool_used: 10, pool_waiting: 500 },
  },
  /** Of a process that lives long enough to have a slope; a heap that settles has less. */
  rssBytesPerMinMax: 20_000_000,
}

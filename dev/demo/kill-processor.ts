import { setTimeout as sleep } from 'node:timers/promises'
import * as processes from '../parts/process.ts'
import { say } from '../parts/progress.ts'
import type { LaneState, LaneWatch } from './lanes.ts'
import type { Service } from './system.ts'

const WAIT_MS_MAX = 30_000
/** A lane that is only on its way is behind for some 10 ms; one that has not moved for so long stands. */
const STANDS_MS = 700
const placeOf = ({ lane, nextSeq, ledger }: LaneState) => `${lane}/${nextSeq}/${ledger}`

/**
 * Kills a processor at the worst moment: it is told to stop where Postgres has committed and Kafka has not, and dies by
 * SIGKILL once one of its lanes is seen there, with unread records behind it.
 * @returns the lanes as they were when it died; empty if the moment never came
 */
export async function killAtTheWorstMoment(processor: Service, lanes: LaneWatch): Promise<LaneState[]> {
  processes.signal(processor.id, 'SIGUSR2')
  const deadline = performance.now() + WAIT_MS_MAX
  let stuck: LaneState[] = []
  let since = new Map<string, number>()
  while (stuck.length === 0 && performance.now() < deadline) {
    const nowMs = performance.now()
    const behind = (await lanes.read()).filter(({ lag, nextSeq, ledger }) => lag > 0 && nextSeq > ledger)
    since = new Map(behind.map((state) => [placeOf(state), since.get(placeOf(state)) ?? nowMs]))
    stuck = behind.filter((state) => nowMs - (since.get(placeOf(state)) ?? nowMs) >= STANDS_MS)
    if (stuck.length === 0) await sleep(100)
  }
  for (const { lane, lag, nextSeq, ledger } of stuck)
    say(`  lane ${lane}: ${lag} records unread, next_seq ${nextSeq} > ledger ${ledger}: in Postgres, not yet in Kafka`)
  if (stuck.length === 0) say(`  the moment did not come within ${WAIT_MS_MAX / 1_000} s`)
  // Also then: held where it is, it would keep the group from giving its lanes to others.
  processes.signal(processor.id, 'SIGKILL')
  say(`  SIGKILL to ${processor.name} (pid ${processor.id.pid})`)
  return stuck
}

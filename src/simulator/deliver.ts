import type { SentLine } from './log.ts'
import type { Manner } from './post.ts'
import { RETRY_AFTER_SEC } from './retry-schedule.ts'
import type { Delivery } from './send.ts'
import type { SignedRequest } from './delivered.ts'
import type { Stage } from './stage.ts'

export interface Sending {
  readonly sign: () => SignedRequest
  readonly copies: number
  readonly manner?: Manner
}

/** Signs at the moment of sending, posts the copies at once and records each. @returns whether one was accepted */
export async function deliver(
  about: Omit<SentLine, keyof Delivery>,
  { sign, copies, manner }: Sending,
  stage: Stage,
): Promise<boolean> {
  if (stage.isStopped()) return false
  const deliveries = await stage.sender.burst(about.provider, sign, copies, manner)
  for (const delivery of deliveries) stage.record({ ...about, ...delivery })
  return deliveries.some(({ heard }) => heard === 'success')
}

/** A sender that heard no success sends again, on its schedule, until it gives up. */
export async function again(
  sender: keyof typeof RETRY_AFTER_SEC,
  send: () => Promise<boolean>,
  stage: Stage,
): Promise<boolean> {
  for (const waitSec of RETRY_AFTER_SEC[sender]) {
    if (stage.isStopped()) return false
    await stage.until(stage.elapsedMs() + waitSec * 1_000 * stage.timeScale)
    if (await send()) return true
  }
  return false
}

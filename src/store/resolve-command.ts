import { createHash } from 'node:crypto'
import type { Resolution } from '../orders/model.ts'
import type { CommandRequest } from './file-command.ts'
import type { Anomaly } from './list-anomalies.ts'

/** Of an answer's reason, in characters. */
export const REASON_CHARS_MAX = 500

/**
 * An operator's answer as a command for the lane of the anomaly's order. The key stands for the person too: with
 * somebody else's key nobody is told that their own answer counted.
 */
export function resolveCommand(
  { id, merchant, outTradeNo }: Pick<Anomaly, 'id' | 'merchant' | 'outTradeNo'>,
  answer: {
    readonly resolution: Resolution
    readonly reason: string
    readonly actor: string
    readonly idempotencyKey: string
  },
): CommandRequest {
  const { resolution, reason, actor, idempotencyKey } = answer
  const whole = JSON.stringify(['resolve', id, resolution, reason, actor])
  return {
    ...{ kind: 'resolve', merchant, outTradeNo, idempotencyKey, actor },
    bodyHash: createHash('sha256').update(whole).digest(),
    body: JSON.stringify({ anomalyId: id, resolution, reason }),
  }
}

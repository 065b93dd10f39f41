import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { PlainProducer } from '../runtime/kafka/port.ts'
import { sendReplays } from '../store/send-replays.ts'
import { readReplayRun, settleReplays, type ReplayReport } from '../store/settle-replays.ts'
import { CliFailure, EXIT } from './failure.ts'
import { table, type Output } from './render.ts'

const LOOK_MS = 200
/** Lines of the table; a large run is summed up, and whole in JSON. */
const ROWS_MAX = 200

/** Sends what a run has left to send, waits for the lanes, and says what became of each record. */
export async function reportRun(
  pool: pg.Pool,
  producer: PlainProducer,
  { topic, runId, waitMs }: { readonly topic: string; readonly runId: number; readonly waitMs: number },
): Promise<Output> {
  const before = await readReplayRun(pool, runId)
  if (before === undefined)
    throw new CliFailure(
      EXIT.findings,
      `There is no replay ${runId}.`,
      'dlq inspect shows the replays of a dead letter.',
    )
  const total = before.replays.filter(({ isSent }) => !isSent).length
  const onProgress = (sent: number) => say(`replay ${runId}: ${sent} of ${total} sent`)
  const sent = await sendReplays(pool, producer, { topic, runId, onProgress }).catch((error: unknown) => {
    say(`replay ${runId} is not complete; go on with: paidonce dlq replay --run ${runId}`)
    throw error
  })
  const untilMs = performance.now() + waitMs
  let pending = await settleReplays(pool, runId)
  while (pending > 0 && performance.now() < untilMs) {
    await delay(LOOK_MS)
    pending = await settleReplays(pool, runId)
  }
  const run = await readReplayRun(pool, runId)
  return outputOf(runId, run?.replays ?? [], sent.kind === 'busy')
}

const say = (text: string) => void process.stderr.write(`${text}\n`)

const wordOf = ({ result, isSent }: ReplayReport) => result ?? (isSent ? 'not met yet' : 'not sent yet')
const NO_FINDING: readonly string[] = ['applied', 'held']

function outputOf(runId: number, replays: readonly ReplayReport[], isBusy: boolean): Output {
  const counts: Record<string, number> = {}
  for (const replay of replays) counts[wordOf(replay)] = (counts[wordOf(replay)] ?? 0) + 1
  const rows = replays.map((replay) => [replay.letterId, replay.lane, replay.offset, wordOf(replay), replay.detail])
  const said = [
    `replay ${runId}: ${Object.entries(counts)
      .map(([word, count]) => `${count} ${word.replace('_', ' ')}`)
      .join(', ')}`,
    table(['dead letter', 'lane', 'offset', 'result', 'detail'], rows.slice(0, ROWS_MAX)),
    ...(rows.length > ROWS_MAX ? [`${rows.length - ROWS_MAX} more are shown with --output json.`] : []),
    ...(isBusy ? ['Somebody else is sending it now.'] : []),
    ...(replays.some(({ result }) => result === null) ? [`Ask again: paidonce dlq replay --run ${runId}`] : []),
  ]
  return {
    json: {
      run: runId,
      results: counts,
      busy: isBusy,
      replays: replays.map((replay) => ({
        ...{ dead_letter: replay.letterId, lane: replay.lane, offset: replay.offset, sent: replay.isSent },
        ...{ result: replay.result, detail: replay.detail },
      })),
    },
    text: said.join('\n'),
    findings: replays.some((replay) => !NO_FINDING.includes(wordOf(replay))),
  }
}

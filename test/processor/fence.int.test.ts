import { expect, test } from 'vitest'
import { reachNothing } from '../../src/processor/crash-points.ts'
import { fence, type FenceOptions } from '../../src/processor/fence.ts'
import type { CommittedOffset, LaneProducer, OffsetReader } from '../../src/runtime/kafka/port.ts'
import { createLog } from '../../src/runtime/log.ts'
import { writeMarks } from '../../src/schemas/output-marks.ts'
import { INPUT_TOPIC, ledgerMark, OUTPUT_TOPICS, TOPICS } from '../../src/schemas/topics.ts'
import { withDatabase } from '../helpers/database.ts'

const APP = 'app'

/** Kafka after the input topic `new` was made and a lane has committed beside it; the first answers may be older. */
function kafkaWhere(first: { readonly inputId?: string; readonly markId?: string }) {
  let witness: CommittedOffset | undefined
  let readings = 0
  const producer = {
    commit: (_: unknown, offsets: readonly CommittedOffset[]) => {
      witness = offsets.find(({ metadata }) => metadata?.startsWith('witness'))
      return Promise.resolve()
    },
    prove: () => Promise.resolve(),
    close: () => Promise.resolve(),
    isDead: () => false,
  } as unknown as LaneProducer
  const marks = (id: string) =>
    writeMarks(new Map(OUTPUT_TOPICS.map((topic) => [topic, { id: topic, end: 0 }])), { id, log: '' })
  const offsets = {
    committed: () =>
      Promise.resolve({ offset: 0, metadata: marks(readings++ === 0 ? (first.markId ?? 'new') : 'new') }),
    committedAtOnce: () =>
      Promise.resolve(
        new Map([
          [INPUT_TOPIC, { offset: 0, metadata: ledgerMark(0) }],
          [witness?.topic ?? '', { offset: 0, metadata: witness?.metadata ?? '' }],
        ]),
      ),
    logRange: () => Promise.resolve({ start: 0, end: 0 }),
    topicIds: () =>
      Promise.resolve(
        new Map(
          TOPICS.map((topic) => [
            topic,
            topic !== INPUT_TOPIC ? topic : readings <= 1 ? (first.inputId ?? 'new') : 'new',
          ]),
        ),
      ),
  } as unknown as OffsetReader
  return { producer, offsets }
}

test.each([
  ['a broker still tells the old topic', { inputId: 'old' }],
  ['a coordinator still tells the old offset', { markId: 'old' }],
  ['nothing is old', {}],
])('%s for a moment: no halt, and the lane goes by what was read last', (_, first) =>
  withDatabase(async (databaseUrl) => {
    const { producer, offsets } = kafkaWhere(first)
    const options: FenceOptions = {
      ...{ appId: APP, topic: INPUT_TOPIC, topicPrefix: '', databaseUrl, offsets, reach: reachNothing },
      ...{ fenceProducer: () => Promise.resolve(producer), log: createLog('test', 'silent') },
    }
    const hooks = { onLost: () => undefined, onCounted: () => undefined, onLetGo: () => undefined }
    const fenced = await fence(0, 1, options, hooks)
    expect(fenced).toMatchObject({ kind: 'running', incarnation: { position: { inputId: 'new' } } })
    if (fenced.kind === 'running') await fenced.incarnation.session.close()
  }),
)

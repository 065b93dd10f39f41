import { expect, test } from 'vitest'
import type { CommittedOffset } from '../../src/runtime/kafka/port.ts'
import { readLedger } from '../../src/store/read-ledger.ts'

const PLACE = { appId: 'app', topic: 't.payments.callback.v1', topicPrefix: 't.', lane: 3 }
const OLD = { offset: 3_864, metadata: '3864' }
const NEW = { offset: 3_867, metadata: '3867' }

/** A coordinator that shows what it is told only after some reads, as one does whose high watermark is behind. */
function coordinator(behindForReads: number, found: readonly (typeof NEW)[] = [NEW]) {
  const sent: CommittedOffset[] = []
  let reads = 0
  const commit = (_: unknown, offsets: unknown) => {
    sent.push(...(offsets as CommittedOffset[]))
    return Promise.resolve()
  }
  const committedAtOnce = (group: string, topics: readonly string[], partition: number) => {
    expect([group, partition]).toEqual(['app.ledger', 3])
    reads += 1
    if (reads <= behindForReads) return Promise.resolve(new Map([[topics[0] ?? '', OLD]]))
    const witness = { offset: 0, metadata: sent.at(-1)?.metadata ?? '' }
    return Promise.resolve(
      new Map([[topics[1] ?? '', witness], ...found.map((ledger) => [topics[0] ?? '', ledger] as const)]),
    )
  }
  return { producer: { commit }, offsets: { committedAtOnce }, sent, reads: () => reads }
}

test('an old ledger of a coordinator that has just taken over is not believed: a witness is read first', async () => {
  const { producer, offsets, sent, reads } = coordinator(4)
  expect(await readLedger(producer, offsets, PLACE)).toEqual(NEW)
  expect(reads()).toBe(5)
  // In the ledger's own group, and so in the same log; beside it, so that the ledger stays as it is.
  expect(sent).toMatchObject([{ group: 'app.ledger', topic: 't.payments.callback.v1.dlq', partition: 3 }])
})

test('no two witnesses are the same, or an earlier one would be taken for it', async () => {
  const { producer, offsets, sent } = coordinator(0)
  await readLedger(producer, offsets, PLACE)
  await readLedger(producer, offsets, PLACE)
  expect(new Set(sent.map(({ metadata }) => metadata)).size).toBe(2)
})

test('a ledger that is not there is missing for certain', async () => {
  const { producer, offsets } = coordinator(2, [])
  expect(await readLedger(producer, offsets, PLACE)).toBeUndefined()
})

import { expect, test, vi } from 'vitest'
import {
  forgetOffsetOutOfRange,
  guardOffsetReset,
  onOffsetOutOfRange,
} from '../../../../src/runtime/kafka/guards/offset-reset.ts'
import type { Guard } from '../../../../src/runtime/kafka/guards/internals.ts'
import { apartKafkajs } from '../../../helpers/stock-kafkajs.ts'

interface OffsetManager {
  setDefaultOffset: (where: { topic: string; partition: number }) => Promise<void>
}
type OffsetManagerClass = new (options: object) => OffsetManager

const load = (...guards: Guard[]) =>
  apartKafkajs(...guards).load('src/consumer/offsetManager/index.js') as OffsetManagerClass
const where = { topic: 't', partition: 3 }

function create(Manager: OffsetManagerClass) {
  const offsetCommit = vi.fn(() => Promise.resolve())
  const committed: Record<string, unknown> = {}
  const manager = new Manager({
    cluster: { defaultOffset: () => -1, committedOffsets: () => committed },
    coordinator: { isConnected: () => true, offsetCommit },
    memberAssignment: { t: [3] },
    topicConfigurations: {},
    groupId: 'g',
    generationId: 1,
    memberId: 'member-1',
    autoCommit: false,
  })
  return { manager, offsetCommit }
}

test('stock kafkajs commits another position for the group, though it may not commit', async () => {
  const { manager, offsetCommit } = create(load())
  await manager.setDefaultOffset(where)
  expect(offsetCommit).toHaveBeenCalledWith(
    expect.objectContaining({ topics: [{ topic: 't', partitions: [{ partition: 3, offset: -1 }] }] }),
  )
})

test('guarded, the member is told and nothing is committed', async () => {
  const { manager, offsetCommit } = create(load(guardOffsetReset))
  const told = vi.fn()
  onOffsetOutOfRange('member-1', told)
  await manager.setDefaultOffset(where)
  forgetOffsetOutOfRange('member-1')
  expect(told).toHaveBeenCalledExactlyOnceWith('t', 3)
  expect(offsetCommit).not.toHaveBeenCalled()
})

test('guarded, a member that nobody listens for crashes and is not restarted', async () => {
  const { manager, offsetCommit } = create(load(guardOffsetReset))
  await expect(manager.setDefaultOffset(where)).rejects.toMatchObject({
    message: 'Offset out of range for t-3: refusing to reset it',
    retriable: false,
  })
  expect(offsetCommit).not.toHaveBeenCalled()
})

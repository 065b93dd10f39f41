import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resumeLane } from '../../src/store/resume-lane.ts'
import { INPUT_TOPIC } from '../../src/schemas/topics.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { groupTool, type GroupTool } from '../helpers/groups.ts'
import { createInstallation, payment, type Installation } from '../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

/** One lane, so that every order is on it. */
let installation: Installation
let tool: GroupTool
const paid: string[] = []

async function pay(...orders: string[]) {
  await installation.createOrders(orders)
  await installation.send(orders.map((order) => payment(order)))
  paid.push(...orders)
}
async function expectExactlyOnce() {
  const events = await readEvents(installation.topics, { atLeast: 3 * paid.length })
  expect(checkExactlyOnce(paid, events)).toEqual(nothingWrong(paid))
}
/** A processor comes, does what there is to do, and goes. */
async function work(then: () => Promise<void>) {
  const processor = await startTestProcessor(installation)
  try {
    await untilSettled([processor], 1)
    await then()
    return processor.lanes()
  } finally {
    await processor.stop()
  }
}
const haltOf = async () => {
  const { rows } = await installation.database.pool.query<{ halted_reason: string | null }>(
    'select halted_reason from lanes',
  )
  return rows[0]?.halted_reason
}
const resume = () =>
  resumeLane(installation.database.pool, installation.topics.appId, {
    ...{ topic: installation.topics.name(INPUT_TOPIC), lane: 0 },
    ...{ actor: 'test', reason: 'mended' },
  })

beforeAll(async () => {
  installation = await createInstallation({ partitions: 1 })
  tool = groupTool(installation)
  await pay('R1', 'R2', 'R3')
  await work(expectExactlyOnce)
})
afterAll(() => installation.drop())

describe('an operator sets the group to another offset', () => {
  test.each([
    ['earliest', 0],
    ['back', 2],
    ['latest', 1_000_000],
  ])('%s: all is read that was not applied, nothing is emitted again', async (name, offset) => {
    // Sent while nobody reads: "latest" would skip them if the group's offset were believed.
    await pay(`${name}-1`, `${name}-2`)
    await tool.set('input', 0, Math.min(offset, paid.length))
    await work(expectExactlyOnce)
    const committed = (await tool.offsets('input')).get(0)?.offset
    expect(committed).toBe(paid.length)
  })

  test('deleted: the ledger still says what is emitted', async () => {
    await pay('D1')
    await tool.delete('input')
    await work(expectExactlyOnce)
  })
})

describe('an operator touches the ledger', () => {
  const mend = async (ledger: number) => {
    await tool.set('ledger', 0, ledger, true)
    await pay(`after-${paid.length}`)
    await work(async () => {
      expect(await resume()).toMatchObject({ kind: 'resumed' })
      await expectExactlyOnce()
    })
  }

  test('deleted: the lane halts, halts again when resumed too early, and goes on once it is mended', async () => {
    const ledger = (await tool.offsets('ledger')).get(0)?.offset ?? -1
    expect(ledger).toBe(3 * paid.length)
    await tool.delete('ledger')
    const views = await work(async () => {
      await until('the lane halts', async () => (await haltOf()) === 'ledger_missing')
      await resume()
      await until('the lane halts again', async () => (await haltOf()) === 'ledger_missing')
    })
    expect(views).toMatchObject([{ state: 'halted', haltReason: 'ledger_missing' }])
    await mend(ledger)
  })

  test.each([
    ['set by a tool, which leaves no mark', 'ledger_without_mark', 0, false],
    ['set back below what is settled', 'ledger_below_settled', 1, true],
    ['set above what Postgres has', 'ledger_above_counter', 1_000_000, true],
  ])('%s: the lane halts with its reason', async (_, reason, offset, mark) => {
    const ledger = (await tool.offsets('ledger')).get(0)?.offset ?? -1
    await tool.set('ledger', 0, offset, mark)
    await work(() => until('the lane halts', async () => (await haltOf()) === reason).then(() => undefined))
    await mend(ledger)
  })

  test('ledger and group deleted: the lane halts', async () => {
    const ledger = (await tool.offsets('ledger')).get(0)?.offset ?? -1
    await tool.delete('input')
    await tool.delete('ledger')
    await work(() => until('the lane halts', async () => (await haltOf()) === 'offsets_missing').then(() => undefined))
    await mend(ledger)
  })
})

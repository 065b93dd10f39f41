import { expect, test } from 'vitest'
import { paidonceJson, paidonce } from '../cli/paidonce.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../helpers/check-exactly-once.ts'
import { createInstallation, payment } from '../helpers/installation.ts'
import { detachDeliveries } from '../helpers/partitions.ts'
import { startTestProcessor, untilSettled } from '../helpers/processor.ts'
import { until } from '../helpers/until.ts'

test('a range that a person skips is left out: noted where it is met, stepped over where the lane stands', async () => {
  const it = await createInstallation({ partitions: 1 })
  const { pool } = it.database
  const env = it.env({ LOG_LEVEL: 'silent' }) as Record<string, string>
  const skip = async (from: number, to: number, ...more: string[]) =>
    paidonceJson(['lane', 'skip', '0', '--from', `${from}`, '--to', `${to}`, '--reason', 'not ours', ...more], env)
  const resume = () => paidonceJson(['lane', 'resume', '0', '--reason', 'mended', '--yes'], env)
  const isHalted = (reason: string) => until(`halted by ${reason}`, () => processor.lanes()[0]?.haltReason === reason)
  await it.createOrders(['M0', 'M1', 'M2', 'M3', 'M4'])
  const processor = await startTestProcessor(it)
  try {
    await untilSettled([processor], 1)
    const mend = await detachDeliveries(pool)
    await it.send(['M0', 'M1', 'M2'].map((order) => payment(order)))
    await isHalted('unexpected_error')
    expect(await skip(1, 2, '--dry-run')).toMatchObject({ code: 0, json: { result: 'would_skip' } })
    expect(await skip(1, 2, '--yes')).toMatchObject({ code: 0, json: { result: 'skipped', was_halted: true } })
    await mend()
    expect(await resume()).toMatchObject({ code: 0, json: { halted: 'unexpected_error' } })
    expect(checkExactlyOnce(['M0', 'M2'], await readEvents(it.topics, { atLeast: 6 }))).toEqual(
      nothingWrong(['M0', 'M2']),
    )
    const outcomes = async () =>
      (
        await pool.query<{ o: string }>(
          `select kafka_offset || ' ' || outcome as o from deliveries order by kafka_offset`,
        )
      ).rows.map(({ o }) => o)
    expect(await outcomes()).toEqual(['0 applied', '1 skipped', '2 applied'])

    // What is done cannot be skipped, nor what is not there yet, nor without a reason.
    const refused = ['lane', 'skip', '0', '--from', '1', '--to', '2', '--yes']
    expect(await paidonce(refused, env)).toMatchObject({ code: 2 })
    for (const [from, to, says] of [
      ['1', '2', 'All below offset 3 is applied'],
      ['3', '9', 'ends at 3'],
      ['9', '9', '--to must be above'],
    ] as const)
      expect(
        (await paidonce(['lane', 'skip', '0', '--from', from, '--to', to, '--reason', 'r', '--yes'], env)).stderr,
      ).toContain(says)

    await pool.query(`update lanes set halted_reason = 'flood'`)
    await it.send(['M3', 'M4'].map((order) => payment(order)))
    await isHalted('flood')
    expect(await skip(3, 4, '--yes')).toMatchObject({ code: 0 })
    expect(await resume()).toMatchObject({ code: 0 })
    const paid = ['M0', 'M2', 'M4']
    expect(checkExactlyOnce(paid, await readEvents(it.topics, { atLeast: 9 }))).toEqual(nothingWrong(paid))
    expect(await outcomes()).toEqual(['0 applied', '1 skipped', '2 applied', '4 applied'])
    const { rows } = await pool.query(
      `select action, target->'from' as from, reason from operator_actions where action = 'lane_skip' order by id`,
    )
    expect(rows).toEqual([1, 3].map((from) => ({ action: 'lane_skip', from, reason: 'not ours' })))
  } finally {
    await processor.stop()
    await it.drop()
  }
}, 60_000)

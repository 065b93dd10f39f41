import { expect, test } from 'vitest'
import type { CrashPoint } from '../../../src/processor/crash-points.ts'
import { checkExactlyOnce, nothingWrong, readEvents } from '../../helpers/check-exactly-once.ts'
import { startCrashing } from '../../helpers/crash.ts'
import { createInstallation, payment, type Installation } from '../../helpers/installation.ts'
import { startTestProcessor, untilSettled } from '../../helpers/processor.ts'
import { until } from '../../helpers/until.ts'

const ENV = { SESSION_TIMEOUT_MS: '1000' }
const numbered = (name: string) => Array.from({ length: 8 }, (_, index) => `${name}${index}`)

/** The lane's backends: the first is the zombie's, as the number at its name's end says. */
async function backends({ database, topics }: Installation) {
  const { rows } = await database.pool.query<{ name: string; state: string; wait: string | null }>(
    `select application_name as name, state, wait_event as wait from pg_stat_activity
     where application_name ~ $1 order by length(application_name), application_name`,
    [`^${topics.appId}-lane-0-[0-9]+$`],
  )
  return rows
}

interface Zombie {
  readonly point: CrashPoint | 'in_mutant'
  /** What its backend does while the process is frozen. */
  readonly state: string
  readonly wait?: string
  /** Which of its steps fails after it is woken. */
  readonly step: RegExp
  readonly env?: Readonly<Record<string, string>>
}

const ZOMBIES: readonly [string, Zombie][] = [
  ['before its Postgres transaction', { point: 'batch_before_begin', state: 'idle', step: /batch/ }],
  ['inside it, with locks', { point: 'batch_before_commit', state: 'idle in transaction', step: /batch/ }],
  [
    'inside it, with an answer that it does not read',
    { point: 'in_mutant', state: 'active', wait: 'ClientWrite', step: /batch/, env: { MUTANT: 'frozen_in_answer' } },
  ],
  ['between Postgres and Kafka', { point: 'batch_after_commit', state: 'idle', step: /batch/ }],
  ['inside its Kafka transaction', { point: 'emit_after_sends', state: 'idle', step: /batch/ }],
  ['just before its Kafka commit', { point: 'emit_after_ledger', state: 'idle', step: /batch/ }],
  ['just after its Kafka commit', { point: 'emit_after_kafka_commit', state: 'idle', step: /./ }],
]

test.each(ZOMBIES)('a processor frozen %s is replaced, and refused when it wakes', async (_, zombie) => {
  const installation = await createInstallation({ partitions: 1 })
  const [before, during, after] = [numbered('B'), numbered('D'), numbered('A')]
  await installation.createOrders([...before, ...during, ...after])
  await installation.send(before.map((order) => payment(order)))
  const frozen = startCrashing(installation, zombie.point, 'stop', { ...ENV, ...zombie.env })
  await frozen.reached()
  try {
    const [old] = await until('the frozen one is seen in Postgres', async () => {
      const found = await backends(installation)
      return found[0]?.state === zombie.state && (zombie.wait ?? found[0].wait) === found[0].wait && found
    })
    const successor = await startTestProcessor(installation, ENV)
    try {
      await untilSettled([successor], 1)
      expect((await backends(installation)).map(({ name }) => name)).not.toContain(old?.name)
      await installation.send(during.map((order) => payment(order)))
      const soFar = [...before, ...during]
      const events = await readEvents(installation.topics, { atLeast: 3 * soFar.length })
      expect(checkExactlyOnce(soFar, events)).toEqual(nothingWrong(soFar))

      frozen.signal('SIGCONT')
      await frozen.said(
        'that its lane failed, or that it has joined again',
        ({ step, msg }) =>
          (typeof step === 'string' && zombie.step.test(step)) ||
          (zombie.step.test('') && msg === 'the lane is fenced'),
        30_000,
      )
      await installation.send([...after, ...before].map((order) => payment(order)))
      const all = [...soFar, ...after]
      const allEvents = await readEvents(installation.topics, { atLeast: 3 * all.length })
      expect(checkExactlyOnce(all, allEvents)).toEqual(nothingWrong(all))
    } finally {
      await successor.stop()
    }
  } finally {
    frozen.signal('SIGCONT')
    await frozen.kill()
    await installation.drop()
  }
})

import { expect, onTestFinished, test } from 'vitest'
import { watchScope } from '../../../src/gateway/filter/watch-scope.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { until } from '../../helpers/until.ts'

/** A cluster whose topic has `id`; undefined: it is gone; an error: Kafka is away. */
async function watched(first: string | undefined) {
  const kafka: { id: string | undefined | Error; cluster: string; looks: number } = {
    ...{ id: first, cluster: 'cluster', looks: 0 },
  }
  const time = { ms: 0 }
  const admin = {
    clusterId: () => Promise.resolve(kafka.cluster),
    topicIds: ([topic = '']: readonly string[]) => {
      kafka.looks++
      const { id } = kafka
      if (id instanceof Error) return Promise.reject(id)
      return Promise.resolve(new Map(id === undefined ? [] : [[topic, id]]))
    },
  }
  const watch = await watchScope(admin, {
    ...{ topic: 'input', everyMs: 1, trustMs: 30_000, log: createLog('test', 'silent') },
    clock: { now: () => new Date(0), elapsedMs: () => time.ms },
  })
  onTestFinished(watch.stop)
  const lookedAgain = async () => {
    const { looks } = kafka
    // The one that was under way when it changed, and one more.
    await until('it has looked again', () => kafka.looks >= looks + 2)
  }
  return { kafka, time, watch, lookedAgain }
}

test('a topic or a cluster that was made anew is another scope', async () => {
  const { kafka, watch, lookedAgain } = await watched('id-1')
  const scopes = [watch.scope()]
  kafka.id = 'id-2'
  await lookedAgain()
  scopes.push(watch.scope())
  kafka.cluster = 'other'
  await lookedAgain()
  scopes.push(watch.scope())
  expect(scopes).not.toContain(undefined)
  expect(new Set(scopes).size).toBe(3)
})

test('while there is no topic nothing is known', async () => {
  const { kafka, watch, lookedAgain } = await watched('id-1')
  const before = watch.scope()
  kafka.id = undefined
  await lookedAgain()
  expect(watch.scope()).toBeUndefined()
  kafka.id = 'id-1'
  await lookedAgain()
  expect(watch.scope()).toBe(before)
})

test('what Kafka said is believed for 30 s and no longer', async () => {
  const { kafka, time, watch, lookedAgain } = await watched('id-1')
  const before = watch.scope()
  kafka.id = new Error('away')
  await lookedAgain()
  time.ms = 30_000
  expect(watch.scope()).toBe(before)
  time.ms = 30_001
  expect(watch.scope()).toBeUndefined()
  kafka.id = 'id-1'
  await lookedAgain()
  expect(watch.scope()).toBe(before)
})

test('a cluster that gives no ids has a scope all the same', async () => {
  const { watch } = await watched('')
  expect(watch.scope()).toBe('cluster input ')
})

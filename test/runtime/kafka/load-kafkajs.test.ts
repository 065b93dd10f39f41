import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Kafka } from '../../../src/runtime/kafka/kafkajs.ts'
import { GUARDS, loadKafkajs } from '../../../src/runtime/kafka/load-kafkajs.ts'
import { apartKafkajs } from '../../helpers/stock-kafkajs.ts'

const real = createRequire(import.meta.url)
const fake = (modules: Record<string, unknown>) =>
  Object.assign((name: string) => (name in modules ? modules[name] : real(name)) as unknown, {
    resolve: real.resolve.bind(real),
    cache: {},
    main: undefined,
    extensions: {},
  }) as unknown as NodeJS.Require

test('another version is refused: the guards reach into its insides', () => {
  expect(() => loadKafkajs(fake({ 'kafkajs/package.json': { version: '2.2.5' } }))).toThrow('not 2.2.5')
})

test('kafkajs that was loaded by somebody else first is refused', () => {
  const require = fake({})
  require.cache[real.resolve('kafkajs')] = { exports: apartKafkajs().kafkajs } as NodeJS.Module
  expect(() => loadKafkajs(require)).toThrow('loaded without its guards')
})

test('loading it again gives the same one', () => {
  expect(loadKafkajs(real).Kafka).toBe(Kafka)
})

test('every guard of the folder is loaded', async () => {
  const folder = join(import.meta.dirname, '../../../src/runtime/kafka/guards')
  const exported: unknown[] = []
  for (const file of readdirSync(folder).filter((name) => name !== 'internals.ts')) {
    const module = (await import(join(folder, file))) as Record<string, unknown>
    const guards = Object.entries(module).filter(([name]) => name.startsWith('guard'))
    expect(guards, file).toHaveLength(1)
    exported.push(...guards.map(([, guard]) => guard))
  }
  expect(new Set(exported)).toEqual(new Set(GUARDS))
})

import { createClient } from '@redis/client'
import type { Redis } from '../../dev/parts/redis.ts'
import { startForm } from './form-system.ts'
import { isFormName } from './forms/all.ts'
import { startOurs } from './our-system.ts'
import { play, type Played, type PlayOptions } from './play.ts'

/** Plays the three tests on one of the forms, or on ours, with a database and topics of its own. */
export async function runPattern(name: string, redis: Redis, options: PlayOptions): Promise<Played> {
  const system = await (isFormName(name) ? startForm(name, redis.url) : startOurs())
  try {
    return await play(system, redis, () => flush(redis.url), options)
  } finally {
    await system.stop()
  }
}

async function flush(url: string): Promise<void> {
  const client = createClient({ url })
  await client.connect()
  await client.flushAll()
  client.destroy()
}

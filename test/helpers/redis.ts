import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { dieTogether } from '../../dev/parts/process.ts'
import { startRedis, type Redis, type RedisOptions } from '../../dev/parts/redis.ts'
import { LOCAL_DIR } from '../../dev/parts/state.ts'

let bound: object | undefined

/**
 * A redis-server that a test may freeze, kill and restart: `redis.freeze()`. Starts in 0.1 s and forgets all at a
 * restart unless `settings` say otherwise; `stop` ends it, also when it is frozen, and keeps its log (.local/faults).
 */
export async function ownRedis(settings: NonNullable<RedisOptions['settings']> = {}): Promise<Redis> {
  bound ??= dieTogether({ signals: false }) // the test runner owns the signals of its workers
  const parent = join(LOCAL_DIR, 'faults')
  mkdirSync(parent, { recursive: true })
  return startRedis({ dir: mkdtempSync(join(parent, 'redis-')), settings })
}

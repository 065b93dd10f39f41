import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './until.ts'

/**
 * For a process under test whose lanes are to stand at many points at once: `CRASH_HOLD_AT` names places, as
 * `point,point,…`, and whoever comes to one that is free stays there, for `CRASH_HOLD_MS` or until it is let go. With as
 * many lanes as places, each lane that passes all of them ends in one.
 */
const { CRASH_HOLD = '', CRASH_HOLD_AT = '', CRASH_HOLD_MS = '0' } = process.env
const FOR_EVER_MS = 300_000
const free: (string | undefined)[] = CRASH_HOLD_AT.split(',')

export function holdHere(point: string): Promise<void> | undefined {
  if (CRASH_HOLD === '') return undefined
  const place = free.indexOf(point)
  if (place < 0) return undefined
  free[place] = undefined
  return stay(join(CRASH_HOLD, String(place)))
}

async function stay(marker: string): Promise<void> {
  const end = performance.now() + (Number(CRASH_HOLD_MS) || FOR_EVER_MS)
  writeFileSync(marker, '')
  const mayGo = () => performance.now() > end || existsSync(`${marker}.go`) || existsSync(join(CRASH_HOLD, 'all.go'))
  await until('it is let go', mayGo, FOR_EVER_MS)
  writeFileSync(`${marker}.gone`, '')
}

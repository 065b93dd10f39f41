import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Asked } from './report.ts'

/** What is typed to draw the same load and the same faults once more. */
export const replayOf = ({ minutes, seed, ordersPerSec }: Omit<Asked, 'commit'>) =>
  `npm run chaos -- --minutes ${minutes} --seed ${seed} --orders-per-sec ${ordersPerSec}`

/** A replay must not take the place of what it is to explain. @returns where the failed run of that folder is now */
export function keepFailed(dir: string): string | undefined {
  const file = join(dir, 'report.json')
  if (!existsSync(file) || (JSON.parse(readFileSync(file, 'utf8')) as { ok: boolean }).ok) return undefined
  let n = 1
  while (existsSync(`${dir}-failed-${n}`)) n++
  renameSync(dir, `${dir}-failed-${n}`)
  return `${dir}-failed-${n}`
}

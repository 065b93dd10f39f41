import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PatternOptions } from './options.ts'
import { OURS } from './our-system.ts'
import type { Leak, Played } from './play.ts'

const DOCUMENT = join(import.meta.dirname, '../../docs/patterns.md')
const [BEGIN, END] = ['<!-- table: npm run bench:patterns -- --write -->', '<!-- end of table -->']

const leak = ({ orders, doubled, lost }: Leak) => `${doubled} · ${lost} of ${orders}`

/** A row for each that was played. */
export const tableOf = (played: readonly Played[], { kills, failovers }: PatternOptions): string =>
  [
    `| | five at once | workers killed (${kills} times) | Redis forgets (${failovers} times) | callbacks/s |`,
    '|---|---|---|---|---|',
    ...played.map(
      ({ name, concurrency, crash, failover }) =>
        `| ${name === OURS ? `**${name}**` : name} | ${leak(concurrency)} | ${leak(crash)} | ${leak(failover)} | ${concurrency.callbacksPerSec} |`,
    ),
  ].join('\n')

/** Puts the table where the last one was. @param origin how to get the same one again */
export function writeTable(table: string, origin: string, document = DOCUMENT): void {
  const text = readFileSync(document, 'utf8')
  const [before, after] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`${document} has no place for the table`)
  writeFileSync(document, `${text.slice(0, before)}${BEGIN}\n\n${table}\n\n${origin}\n\n${text.slice(after)}`)
}

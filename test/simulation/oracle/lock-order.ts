import type { Transaction } from '../postgres/cells.ts'
import { must } from './violation.ts'

const ORDER = ['orders', 'groups', 'lanes']

/**
 * Everybody locks orders, then groups, then the lane's row, and any other row only under one of these: whoever holds a
 * lane's row waits for nobody, so that no two wait for each other, and who sets a brake waits for one statement and a
 * COMMIT. It is asked of all that is committed, as a circle shows only where two are at work on a lane at the same time.
 */
export function locksInOrder({ cells }: Transaction): void {
  let before = 0
  for (const { table } of cells) {
    const rank = ORDER.indexOf(table.name)
    if (rank < 0) continue
    must(rank >= before, 'lock_order', () => `${table.name} locked after ${ORDER[before]}`)
    before = rank
  }
}

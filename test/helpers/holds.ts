import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LOCAL_DIR } from '../../dev/parts/state.ts'

/** Places in a child at which its lanes stay (hold-here.ts); each is named by its index. */
export interface Holds {
  readonly env: Readonly<Record<string, string>>
  readonly isHeld: (place: number) => boolean
  readonly isGone: (place: number) => boolean
  readonly letGo: (place: number) => void
  readonly letAllGo: () => void
}

/** @param holdMs how long whoever comes stays; 0: until it is let go */
export function createHolds(places: readonly string[], holdMs: number): Holds {
  const parent = join(LOCAL_DIR, 'faults')
  mkdirSync(parent, { recursive: true })
  const dir = mkdtempSync(join(parent, 'holds-'))
  return {
    env: { CRASH_HOLD: dir, CRASH_HOLD_AT: places.join(','), CRASH_HOLD_MS: String(holdMs) },
    isHeld: (place) => existsSync(join(dir, String(place))),
    isGone: (place) => existsSync(join(dir, `${place}.gone`)),
    letGo: (place) => writeFileSync(join(dir, `${place}.go`), ''),
    letAllGo: () => writeFileSync(join(dir, 'all.go'), ''),
  }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { notePower, readPowers } from '../../chaos/power.ts'

const CRASHES_NONE = { 'crash-gateway': null, 'crash-processor': null, 'crash-paths': null, 'crash-api': null }

test('a report says what the last run of each caught, and nothing of what was never run', () => {
  const dir = mkdtempSync(join(tmpdir(), 'power-'))
  try {
    const none = { ...{ mutants: null, captures: null, processors: null }, ...CRASHES_NONE }
    expect(readPowers(dir)).toEqual(none)
    notePower('captures', { commit: 'a', caught: 45, of: 46 }, dir)
    notePower('captures', { commit: 'b', caught: 46, of: 46 }, dir)
    notePower('crash-api', { commit: 'b', caught: 50, of: 54 }, dir)
    expect(readPowers(dir)).toEqual({
      ...none,
      captures: { commit: 'b', caught: 46, of: 46 },
      'crash-api': { commit: 'b', caught: 50, of: 54 },
    })
  } finally {
    rmSync(dir, { recursive: true })
  }
})

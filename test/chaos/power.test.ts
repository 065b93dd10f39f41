import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { notePower, readPowers } from '../../chaos/power.ts'

test('a report says what the last run of each caught, and nothing of what was never run', () => {
  const dir = mkdtempSync(join(tmpdir(), 'power-'))
  try {
    expect(readPowers(dir)).toEqual({ mutants: null, captures: null, processors: null })
    notePower('captures', { commit: 'a', caught: 45, of: 46 }, dir)
    notePower('captures', { commit: 'b', caught: 46, of: 46 }, dir)
    expect(readPowers(dir)).toEqual({
      mutants: null,
      captures: { commit: 'b', caught: 46, of: 46 },
      processors: null,
    })
  } finally {
    rmSync(dir, { recursive: true })
  }
})

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
/** Runs write their tables into it: those of the run before are no change of what this one tries. */
const WRITTEN_BY_RUNS = 'docs/reliability.md'

/** With `-dirty` where a file is not as that commit has it. */
export function commitNow(): string {
  try {
    const commit = git('rev-parse', '--short', 'HEAD')
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', '.', `:(exclude)${WRITTEN_BY_RUNS}`)
    return changed === '' ? commit : `${commit}-dirty`
  } catch {
    return 'unknown'
  }
}

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()

import { execFileSync } from 'node:child_process'

/** The first of the seeds that nobody has run yet: another one for each commit, and the same for the same one. */
export function baseSeed(): { readonly commit: string; readonly first: number } {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  return { commit, first: Number.parseInt(commit.slice(0, 8), 16) }
}

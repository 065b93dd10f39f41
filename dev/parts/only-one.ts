import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isAlive, self, type ProcessId } from './process.ts'

export class AlreadyRuns extends Error {
  override readonly name = 'AlreadyRuns'
}

/**
 * Notes in `file` that this process is the one that uses the folders of `command`; the note counts until it ends.
 * @throws AlreadyRuns naming the process that uses them already
 */
export function onlyOne(command: string, file: string): void {
  const holder = holderOf(file)
  if (holder !== undefined)
    throw new AlreadyRuns(
      `\`${command}\` runs already in this folder (pid ${holder.pid}). Use that one, or end it with Ctrl-C.`,
    )
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(self()))
}

/** @returns the process that uses them now; undefined: none, or it has ended */
export function holderOf(file: string): ProcessId | undefined {
  const holder = read(file)
  return holder !== undefined && isAlive(holder) ? holder : undefined
}

function read(file: string): ProcessId | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessId
  } catch {
    return undefined // none, or half written by one that was killed
  }
}

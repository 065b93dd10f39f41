import { writeFileSync } from 'node:fs'

const { CRASH_AT, CRASH_ACTION = 'kill', CRASH_MARKER = '', CRASH_PASSAGE = '1' } = process.env
let passages = 0

/** Dies, freezes or throws, as `CRASH_ACTION` says. It writes `CRASH_MARKER` first, so that it is seen to be reached. */
export function crash(): void {
  writeFileSync(CRASH_MARKER, `${process.pid}\n`)
  if (CRASH_ACTION === 'throw') throw new Error(`crash at ${CRASH_AT ?? ''}`)
  process.kill(process.pid, CRASH_ACTION === 'stop' ? 'SIGSTOP' : 'SIGKILL')
}

/** For a process under test: crashes at the point `CRASH_AT`, on the `CRASH_PASSAGE`-th passage. */
export const reachToCrash = (point: string): void => {
  if (point === CRASH_AT && ++passages === Number(CRASH_PASSAGE)) crash()
}

import { BILL_HEAD_CHARS_MAX } from './bill.ts'

/** Tells, while a bill is read, whether it can be one: by its titles, or by how much came before there were any. */
export interface TitleCheck {
  readonly pushed: (text: string) => void
  /** True: whatever comes, it is no bill. */
  readonly isNone: () => boolean
  /** Whether all titles that are needed have been read. */
  readonly areThere: () => boolean
}

/** @param titles those that were read so far; they come at once, and stay */
export function createTitleCheck(needed: readonly string[], titles: () => readonly string[]): TitleCheck {
  let chars = 0
  let areThere: boolean | undefined
  const look = () => needed.every((title) => titles().includes(title))
  return {
    pushed: (text) => {
      chars += text.length
    },
    isNone: () => {
      // Asked for each row: the titles are compared once.
      if (areThere === undefined && titles().length === 0) return chars > BILL_HEAD_CHARS_MAX
      return !(areThere ??= look())
    },
    areThere: look,
  }
}

/** One line of a text, without its line end. */
export interface TextLine {
  /** From 1. */
  readonly number: number
  /** At most `charsMax` characters of it. */
  readonly text: string
  readonly isWhole: boolean
}

/** Cuts a text into lines, however it comes in pieces: by `\n` or `\r\n`. */
export interface LineSplitter {
  readonly push: (piece: string) => TextLine[]
  /** The last line, if it has no end; nothing if the text ended with one. */
  readonly end: () => TextLine[]
}

/** @param charsMax what a line may have: of a longer one only so much is kept, whatever comes */
export function createLineSplitter(charsMax: number): LineSplitter {
  let [number, kept, isWhole] = [1, '', true]
  const take = (piece: string, from: number, to: number) => {
    // One more than a line may have, as the last one may be the `\r` of its end.
    const room = charsMax + 1 - kept.length
    if (to - from > room) isWhole = false
    if (room > 0) kept += piece.slice(from, Math.min(to, from + room))
  }
  const finish = (): TextLine => {
    const text = isWhole && kept.endsWith('\r') ? kept.slice(0, -1) : kept
    const line = { number, text: text.slice(0, charsMax), isWhole: isWhole && text.length <= charsMax }
    number += 1
    kept = ''
    isWhole = true
    return line
  }
  return {
    push: (piece) => {
      const lines: TextLine[] = []
      let from = 0
      for (let to = piece.indexOf('\n'); to >= 0; to = piece.indexOf('\n', from)) {
        take(piece, from, to)
        lines.push(finish())
        from = to + 1
      }
      take(piece, from, piece.length)
      return lines
    },
    end: () => (kept === '' && isWhole ? [] : [finish()]),
  }
}

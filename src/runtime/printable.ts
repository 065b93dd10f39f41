/**
 * All that is no letter, mark, number, sign or space that can be seen: controls (C0, C1), format characters (the
 * bidirectional and zero-width ones, tags, the soft hyphen), lone surrogates, private and unassigned ones, fillers that
 * are letters by category only (U+3164), blanks that look like a space and are none, and the empty Braille pattern.
 * The ideographic space stays, as Chinese is written with it.
 */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?![ \u3000])\p{Zs}/gu

/**
 * Text of other people's systems for a terminal or a log: what could move the cursor, turn the text round, or make two
 * texts look the same, as `\u{…}`.
 */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)

/** The same for a text of several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')

/** The same for a JSON text, which stays one of the same value. */
export const printableJson = (json: string): string =>
  json.replace(UNPRINTABLE, (char) =>
    char === '\n'
      ? char
      : Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
          .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
          .join(''),
  )

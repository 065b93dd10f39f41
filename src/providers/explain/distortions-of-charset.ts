import { ANY_BODY, type Distortion } from './distortion.ts'
import { BYTES } from './remedies.ts'
import { undoGbkToUtf8, undoReadAsGbk, undoReadAsLatin1, undoUtf8ToGbk, undoWrittenAsLatin1 } from './undo-text.ts'

const CHARSET = `${BYTES}: nothing in front may decode or encode its text.`

/** Text that was read or written in another charset. */
export const CHARSETS: readonly Distortion[] = [
  {
    fault: 'utf8_read_as_latin1',
    words: 'UTF-8 text was read as latin1 and encoded as UTF-8 again.',
    remedy: CHARSET,
    bodies: ANY_BODY,
    undo: undoReadAsLatin1,
  },
  {
    fault: 'utf8_read_as_gbk',
    words: 'UTF-8 text was read as GBK and encoded as UTF-8 again.',
    remedy: CHARSET,
    bodies: ANY_BODY,
    undo: undoReadAsGbk,
  },
  {
    fault: 'gbk_to_utf8',
    words: 'Text in GBK was turned into UTF-8.',
    remedy: `${CHARSET} The charset of a notice is the one that the order asked for.`,
    bodies: ANY_BODY,
    undo: undoGbkToUtf8,
  },
  {
    fault: 'utf8_to_gbk',
    words: 'Text in UTF-8 was turned into GBK.',
    remedy: CHARSET,
    bodies: ANY_BODY,
    undo: undoUtf8ToGbk,
  },
  {
    fault: 'utf8_to_latin1',
    words: 'Text in UTF-8 was turned into latin1.',
    remedy: CHARSET,
    bodies: ANY_BODY,
    undo: undoWrittenAsLatin1,
  },
]

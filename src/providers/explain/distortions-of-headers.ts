import { ANY_BODY, type Distortion } from './distortion.ts'
import {
  undoHeaderChanged,
  undoHeaderRenamed,
  undoHeaderRepeated,
  undoHeadersSwapped,
  undoTimeReprinted,
} from './undo-headers.ts'

/** What a proxy does to the headers that are signed. */
export const HEADERS: readonly Distortion[] = [
  {
    fault: 'header_renamed',
    words: 'A signed header comes under another name.',
    remedy: 'Let the proxy pass headers on under their own names.',
    bodies: ANY_BODY,
    undo: undoHeaderRenamed,
  },
  {
    fault: 'header_repeated',
    words: 'A signed header comes more than once, or with a second value joined to it.',
    remedy: 'Find what in front sets or adds to this header, and take that out.',
    bodies: ANY_BODY,
    undo: undoHeaderRepeated,
  },
  {
    fault: 'header_changed',
    words: 'A signed header was trimmed, quoted or encoded again.',
    remedy: 'Let the proxy pass header values on as they are, of any length.',
    bodies: ANY_BODY,
    undo: undoHeaderChanged,
  },
  {
    fault: 'time_reprinted',
    words: 'The signed time was written in another form than it was signed in.',
    remedy: 'Let the proxy pass the timestamp header on as it is: ten digits.',
    bodies: ANY_BODY,
    undo: undoTimeReprinted,
  },
  {
    fault: 'headers_swapped',
    words: 'The signed headers have one another’s values.',
    remedy: 'Look at what in front sets these headers: each takes the value of its own name.',
    bodies: ANY_BODY,
    undo: undoHeadersSwapped,
  },
]

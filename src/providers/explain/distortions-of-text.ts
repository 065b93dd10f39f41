import { ANY_BODY, type Distortion } from './distortion.ts'
import { COMPARE } from './remedies.ts'
import {
  undoBackslashes,
  undoBomAdded,
  undoBomRemoved,
  undoCarriageReturns,
  undoEntities,
  undoLineFeeds,
  undoNewlineAdded,
  undoNewlineRemoved,
} from './undo-text.ts'

/** What an editor, a log or a reader by lines does to the ends of a body and of its lines. */
export const ENDS: readonly Distortion[] = [
  {
    fault: 'bom_added',
    words: 'A byte order mark was put before the body.',
    remedy: COMPARE,
    bodies: ANY_BODY,
    undo: undoBomAdded,
  },
  {
    fault: 'newline_added',
    words: 'A line end or spaces were added to the body.',
    remedy: `${COMPARE} A reader that works by lines adds one too.`,
    bodies: ANY_BODY,
    undo: undoNewlineAdded,
  },
  {
    fault: 'newline_removed',
    words: 'A line end of the body was cut off.',
    remedy: `${COMPARE} Nothing may trim the body.`,
    bodies: ANY_BODY,
    undo: undoNewlineRemoved,
  },
  {
    fault: 'bom_removed',
    words: 'A byte order mark was taken from the body.',
    remedy: COMPARE,
    bodies: ANY_BODY,
    undo: undoBomRemoved,
  },
  {
    fault: 'line_ends_to_lf',
    words: 'Line ends were changed from CRLF to LF.',
    remedy: `${COMPARE} A version control system or an editor does it.`,
    bodies: ANY_BODY,
    undo: undoLineFeeds,
  },
  {
    fault: 'line_ends_to_crlf',
    words: 'Line ends were changed from LF to CRLF.',
    remedy: `${COMPARE} A version control system, an editor or a form does it.`,
    bodies: ANY_BODY,
    undo: undoCarriageReturns,
  },
]

/** What a filter of input does, as if a body were a page’s. */
export const ESCAPES: readonly Distortion[] = [
  {
    fault: 'html_entities',
    words: 'Characters were written as HTML entities (&quot; for ").',
    remedy: 'Turn off the filter in front that escapes input: it is no input of a page.',
    bodies: ANY_BODY,
    undo: undoEntities,
  },
  {
    fault: 'backslashes_added',
    words: 'Backslashes were put before quotes.',
    remedy: 'Turn off what escapes input in front (addslashes, magic quotes).',
    bodies: ANY_BODY,
    undo: undoBackslashes,
  },
]

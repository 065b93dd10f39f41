import { ANY_BODY, type Distortion } from './distortion.ts'
import { undoWrapped } from './undo-json.ts'
import { undoChunked, undoCompressed } from './undo-transfer.ts'

/** What carries a body, taken for the body. */
export const TRANSFER: readonly Distortion[] = [
  {
    fault: 'compressed',
    words: 'The body is compressed.',
    remedy: 'Let nothing in front compress requests.',
    bodies: ANY_BODY,
    undo: undoCompressed,
  },
  {
    fault: 'chunked',
    words: 'The body still has the lengths of its chunks in it.',
    remedy: 'Save the body after its transfer encoding is undone.',
    bodies: ANY_BODY,
    undo: undoChunked,
  },
  {
    fault: 'wrapped',
    words: 'The body was put into an envelope, a JSON string or base64.',
    remedy: 'Let the API gateway pass the body through (a binary media type, no mapping template).',
    bodies: ANY_BODY,
    undo: undoWrapped,
  },
]

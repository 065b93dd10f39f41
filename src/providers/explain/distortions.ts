import { ANY_BODY, type Distortion } from './distortion.ts'
import {
  undoDecodedBeforeSplit,
  undoDecodedTwice,
  undoEncodedTwice,
  undoJsonForForm,
  undoPlusToSpace,
  undoQueryMerged,
  undoSignChanged,
  undoSpaceToPlus,
} from './undo-form.ts'
import {
  undoHeaderChanged,
  undoHeaderRenamed,
  undoHeaderRepeated,
  undoHeadersSwapped,
  undoTimeReprinted,
} from './undo-headers.ts'
import { undoAnyOrder, undoReordered, undoReprinted, undoWrapped } from './undo-json.ts'
import {
  undoBackslashes,
  undoBomAdded,
  undoBomRemoved,
  undoCarriageReturns,
  undoEntities,
  undoGbkToUtf8,
  undoLineFeeds,
  undoNewlineAdded,
  undoNewlineRemoved,
  undoReadAsGbk,
  undoReadAsLatin1,
  undoUtf8ToGbk,
  undoWrittenAsLatin1,
} from './undo-text.ts'
import { undoChunked, undoCompressed } from './undo-transfer.ts'
import { undoJsonForXml, undoXmlReprinted } from './undo-xml.ts'

const BYTES = 'Pass the body on as the bytes that came'
const CHARSET = `${BYTES}: nothing in front may decode or encode its text.`
const COMPARE = 'Save requests where they enter, as raw bytes: an editor or a log may have changed this one.'

/**
 * What is known to happen to callbacks on their way, the simplest first: where two explain the same bytes, the one that
 * supposes less is named. Each was reported by somebody, or is what a common framework does.
 */
export const DISTORTIONS: readonly Distortion[] = [
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
  {
    fault: 'sign_changed',
    words: 'The characters of the field sign were changed, as a plus to a space.',
    remedy: `${BYTES}: a form must not be decoded and written again.`,
    bodies: ['form'],
    undo: undoSignChanged,
  },
  {
    fault: 'query_merged',
    words: 'Fields that the sender did not send stand among those of the form, as parameters of the address do.',
    remedy: 'Give the notify address no parameters, and pass on the body alone.',
    bodies: ['form'],
    undo: undoQueryMerged,
  },
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
  {
    fault: 'plus_to_space',
    words: 'A plus became a space: a value was decoded once too often, or not encoded again.',
    remedy: `${BYTES}: a form is decoded once, and by the gateway.`,
    bodies: ['form'],
    undo: undoPlusToSpace,
  },
  {
    fault: 'space_to_plus',
    words: 'A space became a plus: the form was read without turning plus into space, and written again.',
    remedy: `${BYTES}: a form is decoded once, and by the gateway.`,
    bodies: ['form'],
    undo: undoSpaceToPlus,
  },
  {
    fault: 'form_decoded_before_split',
    words: 'The whole form was percent-decoded before it was split into fields.',
    remedy: `${BYTES}: a form is decoded once, and by the gateway.`,
    bodies: ['form'],
    undo: undoDecodedBeforeSplit,
  },
  {
    fault: 'form_decoded_twice',
    words: 'A value was percent-decoded twice.',
    remedy: `${BYTES}: a form is decoded once, and by the gateway.`,
    bodies: ['form'],
    undo: undoDecodedTwice,
  },
  {
    fault: 'form_encoded_twice',
    words: 'Values were percent-encoded twice.',
    remedy: `${BYTES}: what is encoded already must not be encoded again.`,
    bodies: ['form'],
    undo: undoEncodedTwice,
  },
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
  {
    fault: 'form_to_json',
    words: 'The form was read and passed on as JSON.',
    remedy: `${BYTES}: no layer may parse it.`,
    bodies: ['form'],
    undo: undoJsonForForm,
  },
  {
    fault: 'xml_to_json',
    words: 'The XML was read and passed on as JSON.',
    remedy: `${BYTES}: no layer may parse it.`,
    bodies: ['xml'],
    undo: undoJsonForXml,
  },
  {
    fault: 'xml_reprinted',
    words: 'The XML was parsed and printed again.',
    remedy: `${BYTES}: no layer may parse and print it.`,
    bodies: ['xml'],
    undo: undoXmlReprinted,
  },
  {
    fault: 'json_reprinted',
    words: 'The JSON was parsed and printed again.',
    remedy: `${BYTES}: no layer may parse and print it (body parsers, WAF and API gateway transformations).`,
    bodies: ['json'],
    undo: undoReprinted,
  },
  {
    fault: 'json_reordered',
    words: 'The JSON was parsed and printed again with its keys in another order.',
    remedy: `${BYTES}: no layer may parse and print it (body parsers, WAF and API gateway transformations).`,
    bodies: ['json'],
    undo: undoReordered,
  },
]

/** Tried alone and last, as it takes seconds. */
export const LAST_RESORT: Distortion = {
  fault: 'json_reordered',
  words: 'The JSON was parsed and printed again with its keys in another order.',
  remedy: `${BYTES}: no layer may parse and print it (body parsers, WAF and API gateway transformations).`,
  bodies: ['json'],
  undo: undoAnyOrder,
}

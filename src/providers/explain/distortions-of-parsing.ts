import { type Distortion } from './distortion.ts'
import { BYTES } from './remedies.ts'
import { undoJsonForForm } from './undo-form.ts'
import { undoAnyOrder, undoReordered, undoReprinted } from './undo-json.ts'
import { undoJsonForXml, undoXmlReprinted } from './undo-xml.ts'

/** A body that was parsed and printed again, as what it was or as something else. */
export const PARSING: readonly Distortion[] = [
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

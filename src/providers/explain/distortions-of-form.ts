import { type Distortion } from './distortion.ts'
import { BYTES } from './remedies.ts'
import {
  undoDecodedBeforeSplit,
  undoDecodedTwice,
  undoEncodedTwice,
  undoPlusToSpace,
  undoQueryMerged,
  undoSignChanged,
  undoSpaceToPlus,
} from './undo-form.ts'

/** Fields of a form that came from elsewhere, or lost a character. */
export const FORM_FIELDS: readonly Distortion[] = [
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
]

/** A form that was decoded or encoded once too often. */
export const FORM_CODING: readonly Distortion[] = [
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
]

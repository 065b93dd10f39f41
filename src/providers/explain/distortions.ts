import type { Distortion } from './distortion.ts'
import { CHARSETS } from './distortions-of-charset.ts'
import { FORM_FIELDS, FORM_CODING } from './distortions-of-form.ts'
import { HEADERS } from './distortions-of-headers.ts'
import { PARSING } from './distortions-of-parsing.ts'
import { ENDS, ESCAPES } from './distortions-of-text.ts'
import { TRANSFER } from './distortions-of-transfer.ts'

/**
 * What is known to happen to callbacks on their way, the simplest first: where two explain the same bytes, the one that
 * supposes less is named. Each was reported by somebody, or is what a common framework does.
 */
export const DISTORTIONS: readonly Distortion[] = [
  ...ENDS,
  ...HEADERS,
  ...FORM_FIELDS,
  ...ESCAPES,
  ...FORM_CODING,
  ...CHARSETS,
  ...TRANSFER,
  ...PARSING,
]

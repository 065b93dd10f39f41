import { isUtf8 } from 'node:buffer'
import { printable } from '../../runtime/printable.ts'
import type { Seen } from './distortion.ts'
import { isSorted, parsed } from './json-text.ts'

const REPLACED = Buffer.from('\ufffd')
/** Percent-encoded in a form. */
const REPLACED_IN_FORM = '%EF%BF%BD'
const BODY_BYTES_MAX = 65_536

/** What can be seen of a request whose signature nothing explains: no proof, but where to look. */
export function hintsOf({ request, form, signedHeaders }: Seen): string[] {
  const { headers, rawBody } = request
  const hints: string[] = []
  const length = headers['content-length']
  if (length !== undefined && Number(length) !== rawBody.length)
    hints.push(
      `The body has ${rawBody.length} bytes, content-length says ${printable(length.slice(0, 12))}: it was cut, or saved in another form.`,
    )
  if (rawBody.length === 0) hints.push('The body is empty: something in front has read it.')
  if (rawBody.length > BODY_BYTES_MAX) hints.push(`The gateway refuses bodies above ${BODY_BYTES_MAX} bytes.`)
  if (rawBody.includes(REPLACED) || rawBody.toString('latin1').toUpperCase().includes(REPLACED_IN_FORM))
    hints.push(
      'The body holds U+FFFD: its text was decoded in the wrong charset (GBK as UTF-8), and the bytes are lost.',
    )
  else if (form !== 'form' && !isUtf8(rawBody)) hints.push('The body is not UTF-8.')
  if (/\?{2,}/.test(rawBody.toString('latin1')))
    hints.push(
      'The body holds several question marks in a row: text was written in a charset that lacks it, and is lost.',
    )
  if (form === 'json' && isSorted(parsed(rawBody.toString())))
    hints.push('The keys of the JSON stand by the alphabet: something may have parsed it and printed it again.')
  for (const header of signedHeaders)
    if (header.endsWith('signature') && (headers[header] ?? '').length > 0 && (headers[header] ?? '').length < 20)
      hints.push(`The header ${header} is too short to be a signature.`)
  return hints
}

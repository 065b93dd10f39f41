import type { Form } from './parse-form.ts'

/** Names of the fields that take part in the signature, in its order: all but `sign` and `sign_type`, by ASCII. */
export const signedNames = ({ spans }: Form): string[] =>
  [...spans.keys()].filter((name) => name !== 'sign' && name !== 'sign_type').sort()

export function isEmpty({ spans }: Form, name: string): boolean {
  const span = spans.get(name)
  return span === undefined || span.start === span.end
}

/** What Alipay signs: `k=v` joined by `&`, decoded, in the order of the names given, in the notice's charset. */
export function signedContent({ bytes, spans }: Form, names: readonly string[]): Buffer {
  // Decoding drops at least the separators that are written here, so the form's size is enough.
  const content = Buffer.allocUnsafe(bytes.length)
  let at = 0
  for (const name of names) {
    const span = spans.get(name)
    if (span === undefined) continue
    at += content.write(at === 0 ? `${name}=` : `&${name}=`, at, 'latin1')
    at += bytes.copy(content, at, span.start, span.end)
  }
  return content.subarray(0, at)
}

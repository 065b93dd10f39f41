/** What a signature may have been before something shortened, quoted or re-encoded it. */
export function* repairedSignatures(value: string): Generator<string> {
  const inner = bare(value)
  yield inner
  yield inner.replaceAll(' ', '+')
  yield unescaped(inner)
  yield padded(inner)
  yield padded(inner.replaceAll('-', '+').replaceAll('_', '/'))
  yield inner.replace(/\s+/g, '')
  yield `v1,${inner}`
}

/** Without spaces and quotes around it. */
export const bare = (value: string): string => value.trim().replace(/^["']|["']$/g, '')

const padded = (value: string) =>
  /^[A-Za-z0-9+/]+$/.test(value) ? value + '='.repeat((4 - (value.length % 4)) % 4) : value

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

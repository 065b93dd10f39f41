const LINE = 16
/** More is in `--output json`. */
const BYTES_MAX = 4_096

/** As `hexdump -C`: offset, bytes, and what of them is printable ASCII. */
export function hexDump(bytes: Buffer | null): string {
  if (bytes === null) return '(none)'
  if (bytes.length === 0) return '(empty)'
  const lines: string[] = []
  for (let at = 0; at < Math.min(bytes.length, BYTES_MAX); at += LINE) {
    const part = bytes.subarray(at, at + LINE)
    const hex = [...part].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const ascii = [...part].map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(LINE * 3 - 1)}  ${ascii}`)
  }
  if (bytes.length > BYTES_MAX) lines.push(`… ${bytes.length - BYTES_MAX} bytes more, whole with --output json`)
  return lines.join('\n')
}

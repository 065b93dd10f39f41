import type { Oracle, Violation } from '../reading.ts'

// eslint-disable-next-line no-control-regex -- it is control characters that are looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/
/** Node's own warnings are text. What it says of an uncaught error is too, and is none of what may be there. */
const NODES_OWN = /^(\(node:\d+\) .*Warning: |\(Use `node |$)/

/** O15: a log line is one JSON object without control characters. */
export const logged: Oracle = {
  id: 'O15',
  about: 'every log line is one JSON object without control characters',
  clauses: ['malformed_log'],
  check: ({ logs }) => {
    const violations: Violation[] = []
    let examined = 0
    for (const { name, text } of logs) {
      const lines = text.split('\n')
      // The last one may have been cut by a kill.
      for (const [index, line] of lines.entries()) {
        examined += 1
        if (CONTROL.test(line) || !(isObject(line) || NODES_OWN.test(line) || isCut(line, lines, index)))
          violations.push({ clause: 'malformed_log', what: `${name}:${index + 1}: ${line.slice(0, 120)}` })
      }
    }
    return { examined, violations }
  },
}

const isCut = (line: string, lines: readonly string[], index: number) =>
  line.startsWith('{') && index === lines.length - 1

function isObject(line: string): boolean {
  try {
    const value = JSON.parse(line) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

import type { Oracle, Violation } from '../reading.ts'

/** O13: no secret in any log, message or table, in none of the usual codings. */
export const secret: Oracle = {
  id: 'O13',
  about: 'no secret, nor its base64 or hex, in logs, metrics, tables, messages and what the command line shows',
  clauses: ['secret_leaked', 'secret_shown'],
  check: ({ secrets, logs, metrics, cli, tables, output, messages }) => {
    const codings = secrets.flatMap(({ name, value }) => {
      const bare = value.replace(/^whsec_/, '')
      const pem = /-----BEGIN [^-]+-----\s+(\S{40,})/.exec(value)?.[1]
      const text = pem ?? bare
      return [text, Buffer.from(text).toString('base64').replace(/=+$/, ''), Buffer.from(text).toString('hex')].map(
        (coded) => ({ name, coded }),
      )
    })
    const places: { name: string; text: string; clause?: string }[] = [
      ...logs.map(({ name, text }) => ({ name: `log ${name}`, text })),
      ...metrics.map(({ name, text }) => ({ name: `metrics ${name}`, text })),
      ...cli.map(({ name, text }) => ({ name: `command line ${name}`, text, clause: 'secret_shown' })),
      ...Object.entries(tables).map(([name, rows]) => ({
        name: `table ${name}`,
        text: rows.map((row) => JSON.stringify(row)).join('\n'),
      })),
      { name: 'headers', text: output.map(({ headers, key }) => `${key ?? ''} ${JSON.stringify(headers)}`).join('\n') },
      { name: 'messages', text: messages.map(({ message }) => JSON.stringify(message)).join('\n') },
    ]
    const violations = places.flatMap(({ name, text, clause = 'secret_leaked' }): Violation[] =>
      codings
        .filter(({ coded }) => text.includes(coded))
        .map((found) => ({ clause, what: `${found.name} in ${name}` })),
    )
    return { examined: places.length * secrets.length, violations }
  },
}

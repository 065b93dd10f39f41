/** Prints how a program is called and ends it, if that is what is asked: before anything is started or reached. */
export function endAtHelp(usage: string): void {
  const args = process.argv.slice(2)
  if (!args.includes('--help') && !args.includes('-h')) return
  process.stdout.write(`${usage}\n`)
  process.exit(0)
}

/** What `parseArgs` has against the command line, in one line; undefined: this error is no such complaint. */
export function usageMistake(error: unknown): string | undefined {
  if (!(error instanceof TypeError) || !('code' in error)) return undefined
  if (!String(error.code).startsWith('ERR_PARSE_ARGS_')) return undefined
  return error.message.split('. ')[0] // what follows tells how to name a file that begins with a dash
}

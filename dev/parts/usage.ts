/** What `parseArgs` has against the command line, in one line; undefined: this error is no such complaint. */
export function usageMistake(error: unknown): string | undefined {
  if (!(error instanceof TypeError) || !('code' in error)) return undefined
  if (!String(error.code).startsWith('ERR_PARSE_ARGS_')) return undefined
  return error.message.split('. ')[0] // what follows tells how to name a file that begins with a dash
}

import { pino, type DestinationStream, type Logger } from 'pino'

export type Log = Logger

/**
 * One JSON line per event on stdout. Secrets never reach it: pass ids and reasons, not bodies, headers or keys;
 * the redaction below is a second fence, for fields that carry one by name.
 */
export function createLog(process: string, level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: { process },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: [
      'password',
      'secret',
      'token',
      'authorization',
      'apiV3Key',
      '*.password',
      '*.secret',
      '*.token',
      '*.apiV3Key',
    ],
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}

/** What may be said of an error: its class, code and message, without the stack of a library. */
export function describeError(error: unknown): { name: string; message: string; code?: string } {
  if (!(error instanceof Error)) return { name: 'Unknown', message: String(error) }
  const code = (error as { code?: unknown; type?: unknown }).code ?? (error as { type?: unknown }).type
  return { name: error.name, message: error.message, ...(typeof code === 'string' ? { code } : {}) }
}

import { createReadStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { InputRecord } from '../runtime/kafka/port.ts'
import { CliFailure, EXIT } from './failure.ts'

/** A record and where it lay. */
export interface SavedRecord extends InputRecord {
  readonly partition: number
}

/** A line of JSON a record, with its bytes in base64. */
const lineOf = ({ partition, offset, timestampMs, key, value, headers }: SavedRecord) =>
  JSON.stringify({
    ...{ partition, offset, timestampMs, key: text(key), value: text(value) },
    headers: Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, text(header)])),
  })
const text = (bytes: Buffer | null) => bytes && bytes.toString('base64')

const LINES_AT_ONCE = 500

/**
 * Writes a new file that its owner alone may read, as callbacks name who paid what. It has its name once all is on the
 * disk, so that a part of it is never taken for the whole.
 * @throws CliFailure there is such a file
 */
export async function writeRecords(path: string, records: AsyncIterable<SavedRecord>): Promise<void> {
  const whole = await open(path, 'wx', 0o600).catch((error: unknown) => {
    throw new CliFailure(EXIT.usage, `${path} cannot be made: ${(error as Error).message}`, 'Name a new file.', error)
  })
  await whole.close()
  const part = `${path}.part`
  try {
    const file = await open(part, 'w', 0o600)
    try {
      let lines: string[] = []
      const flush = async () => {
        if (lines.length > 0) await file.appendFile(`${lines.join('\n')}\n`)
        lines = []
      }
      for await (const record of records) if (lines.push(lineOf(record)) >= LINES_AT_ONCE) await flush()
      await flush()
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(part, path)
  } catch (error) {
    await Promise.all([rm(part, { force: true }), rm(path, { force: true })])
    throw error
  }
}

/** @throws CliFailure a line is none that was saved */
export async function* readRecords(path: string): AsyncGenerator<SavedRecord> {
  let number = 0
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    number++
    try {
      yield recordOf(JSON.parse(line) as Line)
    } catch (error) {
      throw new CliFailure(
        EXIT.usage,
        `${path} line ${number} is no saved record`,
        'Give what input save has written.',
        error,
      )
    }
  }
}

interface Line {
  readonly partition: number
  readonly offset: number
  readonly timestampMs: number
  readonly key: string | null
  readonly value: string | null
  readonly headers: Readonly<Record<string, string>>
}

function recordOf({ partition, offset, timestampMs, key, value, headers }: Line): SavedRecord {
  if (![partition, offset, timestampMs].every(Number.isSafeInteger)) throw new TypeError('no place')
  const entries = Object.entries(headers).map(([name, header]) => [name, Buffer.from(header, 'base64')] as const)
  return {
    ...{ partition, offset, timestampMs, key: bytes(key), value: bytes(value) },
    headers: Object.fromEntries(entries),
  }
}
const bytes = (of: string | null) => (of === null ? null : Buffer.from(of, 'base64'))

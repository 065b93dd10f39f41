import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { Option, type Command } from 'commander'
import { z } from 'zod'
import { loadMerchants, type Merchants } from '../providers/merchants.ts'
import type { Provider } from '../providers/provider.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { readConfig } from '../runtime/config.ts'
import { CliFailure, EXIT } from './failure.ts'
import { merchantName, time } from './options.ts'
import { BODY_BYTES_MAX, HEAD_BYTES_MAX, parseSavedRequest, type SavedRequest } from './saved-request.ts'

/** Options of the verbs that take a saved request. */
export interface SavedRequestOptions {
  readonly provider?: string
  readonly merchant?: string
  readonly at?: Date
}

export interface OpenedRequest {
  readonly saved: Extract<SavedRequest, { kind: 'request' }>
  readonly provider: string
  readonly merchant: string
  /** Whom it is addressed to. */
  readonly bound: Provider
  readonly merchants: Merchants
  /** When it is taken to arrive. */
  readonly at: Date
}

/** With the empty line in between. */
const FILE_BYTES_MAX = HEAD_BYTES_MAX + 4 + BODY_BYTES_MAX

export const takesSavedRequest = (verb: Command) =>
  verb
    .argument('<file>', 'the request as it was on the wire: request line, headers, empty line, body')
    .addOption(new Option('--provider <name>', 'default: from the request line').choices([...PROVIDERS.keys()]))
    .option('--merchant <merchant>', 'default: from the request line', merchantName)
    .option('--at <time>', 'when it is taken to arrive; default: now', time)

/**
 * Reads a saved request and finds the keys of the merchant to whom it is addressed.
 * @param onSecret hears each secret in MERCHANTS_DIR
 */
export function openSavedRequest(
  env: NodeJS.ProcessEnv,
  file: string,
  options: SavedRequestOptions,
  onSecret?: (secret: string) => void,
): OpenedRequest {
  const { MERCHANTS_DIR } = readConfig({ MERCHANTS_DIR: z.string() }, env)
  const saved = parseSavedRequest(readFile(file))
  if (saved.kind === 'malformed')
    throw new CliFailure(EXIT.usage, `${file} ${saved.detail}.`, 'Save the request with its headers, byte for byte.')
  const provider = options.provider ?? saved.path?.provider
  const merchant = options.merchant ?? saved.path?.merchant
  if (provider === undefined || merchant === undefined)
    throw new CliFailure(EXIT.usage, `${file} names no provider and merchant.`, 'Add --provider and --merchant.')
  const merchants = loadMerchants(MERCHANTS_DIR, onSecret)
  const bound = merchants.find(provider, merchant)
  if (bound === undefined)
    throw new CliFailure(EXIT.usage, `${merchant} has no ${provider} in MERCHANTS_DIR.`, 'Check both names.')
  return { saved, provider, merchant, bound, merchants, at: options.at ?? new Date() }
}

/** A pipe or a device never ends, and may have no size: neither is opened to wait for, and no more is read than fits. */
function readFile(file: string): Buffer {
  let bytes: Buffer | undefined
  try {
    bytes = readRegular(file)
  } catch (error) {
    const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
    throw new CliFailure(EXIT.usage, `Cannot read ${file} (${String(code)}).`, 'Check the path.', error)
  }
  if (bytes === undefined)
    throw new CliFailure(EXIT.usage, `${file} is no regular file.`, 'Save the request into a file first.')
  if (bytes.length > FILE_BYTES_MAX)
    throw new CliFailure(EXIT.usage, `${file} has more than ${FILE_BYTES_MAX} bytes.`, 'Save one request alone.')
  return bytes
}

/** @returns at most one byte more than is allowed; undefined if it is no regular file */
function readRegular(file: string): Buffer | undefined {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) return undefined
    const buffer = Buffer.alloc(Math.min(stats.size, FILE_BYTES_MAX) + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      read = readSync(descriptor, buffer, length, buffer.length - length, null)
    return buffer.subarray(0, length)
  } finally {
    closeSync(descriptor)
  }
}

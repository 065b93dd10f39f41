import { timingSafeEqual, type KeyObject } from 'node:crypto'
import type { Inspection } from '../provider.ts'
import { givenSignatures, reportSignature, signedReport } from './verify.ts'

const UNIX_SECONDS = /^\d{1,12}$/

/** The signature of a report, taken apart. */
export const inspectWorker = (secrets: readonly KeyObject[]): Inspection => {
  const idOf = (index: number) => `secret ${index + 1}`
  return {
    keys: secrets.map((_, index) => ({ id: idOf(index), fingerprint: null, validToMs: Infinity })),
    canonical: ({ headers, rawBody }) => {
      const [id, timestamp] = [headers['webhook-id'], headers['webhook-timestamp']]
      return id === undefined || timestamp === undefined ? undefined : signedReport(id, timestamp, rawBody)
    },
    verifies: ({ headers, rawBody }, keyId) => {
      const secret = secrets.find((_, index) => idOf(index) === keyId)
      const [id = '', timestamp = ''] = [headers['webhook-id'], headers['webhook-timestamp']]
      if (secret === undefined) return false
      const expected = reportSignature(secret, id, timestamp, rawBody)
      return givenSignatures(headers['webhook-signature'] ?? '').some(
        (bytes) => bytes.length === expected.length && timingSafeEqual(bytes, expected),
      )
    },
    namedKey: () => undefined,
    signedAtSec: ({ headers }) => {
      const timestamp = headers['webhook-timestamp'] ?? ''
      return UNIX_SECONDS.test(timestamp) ? Number(timestamp) : undefined
    },
  }
}

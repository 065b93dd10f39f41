import type { KeyObject } from 'node:crypto'
import { reportSignature } from './verify.ts'

/** Signs a report as a worker does at that moment; `id` stays the same when the report is sent again. */
export function signReport(report: object | string | Buffer, id: string, secrets: readonly KeyObject[], at: Date) {
  const rawBody = Buffer.from(typeof report === 'string' || Buffer.isBuffer(report) ? report : JSON.stringify(report))
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': secrets
        .map((secret) => `v1,${reportSignature(secret, id, timestamp, rawBody).toString('base64')}`)
        .join(' '),
    },
    rawBody,
  }
}

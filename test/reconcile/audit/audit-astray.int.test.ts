import { expect, test } from 'vitest'
import { readAuditConfig } from '../../../src/reconcile/audit/config.ts'
import { runAudit } from '../../../src/reconcile/audit/start.ts'
import { createLog } from '../../../src/runtime/log.ts'
import { SHIPMENT_TOPIC } from '../../../src/schemas/topics.ts'
import { fillOutbox } from '../../helpers/fill-outbox.ts'
import { createInstallation } from '../../helpers/installation.ts'
import { fulfillmentOf, rewriteTopics, withContent } from '../../helpers/rewrite-topics.ts'

const ORDERS = 2_500
/** From the end: where the beginning of the window is looked for first. */
const PROBE = 2_000

test('a forged number where the window’s beginning is looked for hides nothing that is missing before it', async () => {
  const it = await createInstallation({ partitions: 1 })
  try {
    await fillOutbox(it, ORDERS)
    let missing = ''
    await rewriteTopics(it.topics, (records) => {
      const ships = records.filter(({ topic }) => topic.endsWith(SHIPMENT_TOPIC))
      const [lost, spot] = [ships[10], ships[ORDERS - PROBE + 1]] // One before it goes.
      if (lost === undefined || spot === undefined) throw new Error('too few')
      missing = fulfillmentOf(lost).eventId
      const forged = withContent(spot, { eventId: '00000000-0000-5000-8000-000000000000', laneSeq: -1 })
      return records.flatMap((record) => (record === lost ? [] : record === spot ? [forged, spot] : [record]))
    })
    const window = { sinceMs: Date.now() - 86_400_000, untilMs: Date.now() + 1_000 }
    const request = { actor: 'test', window, onProgress: () => undefined }
    const end = await runAudit(readAuditConfig(it.env()), it.database.pool, request, createLog('audit', 'silent'))
    if (end.kind !== 'done') throw new Error(end.kind)
    expect(end.report.counts).toEqual({ missing: 1, duplicate: 0, amount_mismatch: 0, extra: 1, late: 0 })
    expect(end.report.findings.map(({ finding, eventId }) => [finding, eventId])).toContainEqual(['missing', missing])
    expect(end.report.messages).toBe(3 * ORDERS)
  } finally {
    await it.drop()
  }
})

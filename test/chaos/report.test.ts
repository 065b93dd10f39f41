import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Capture, LogLine, Sample, SentLine } from '../../chaos/checker/capture.ts'
import type { Played } from '../../chaos/play.ts'
import { keepFailed } from '../../chaos/replay.ts'
import { reportOf } from '../../chaos/report.ts'
import { tableOf } from '../../chaos/report-table.ts'
import { LIMITS } from '../../chaos/limits.ts'
import { writeReport } from '../../chaos/write-report.ts'

const dir = mkdtempSync(join(tmpdir(), 'report-'))
afterAll(() => rmSync(dir, { recursive: true }))

const sent = (outTradeNo: string, atMs: number, heard: SentLine['heard']): LogLine => ({
  ...{ line: 'delivery', merchant: 'shop', outTradeNo, atMs, latencyMs: 10, provider: 'alipay', defect: 'none' },
  ...{ gateway: 'g', status: 200, heard, requestSha256: outTradeNo },
})
const counted = (pid: number, what: Sample['what'], value: number): Sample => ({
  ...{ name: 'gateway-1', what, value, atMs: 0, pid },
})
const capture: Capture = {
  about: { appId: 'a', topicPrefix: 'a.', partitions: 1, limits: LIMITS, postgresVersion: '18.4 (built)' },
  log: [
    ...[sent('first', 0, 'success'), sent('second', 10, 'failure'), sent('second', 900, 'success')],
    ...[sent('third', 20, 'failure')],
  ],
  ...{ faults: [], input: [], output: [], probe: [], batches: [], places: [], ends: [], schemas: {}, merchants: {} },
  tables: {
    ...{ orders: [], facts: [], events: [], anomalies: [], dead_letters: [], lanes: [], commands: [] },
    ...{ operator_actions: [], waiting_events: [], deliveries: [] },
  },
  ...{ secrets: [], logs: [], metrics: [], cli: [] },
  // One life counts up to 5 and ends; the next one begins anew.
  samples: [
    ...[counted(1, 'success_timed', 3), counted(1, 'success_timed', 5), counted(2, 'success_timed', 2)],
    counted(2, 'success_late', 0),
  ],
}
const played = (violated: Readonly<Record<string, number>>): Played => {
  const isOk = Object.keys(violated).length === 0
  const examples = isOk ? [] : ['lost: ship of second: topic id']
  return {
    verdict: { ok: isOk, oracles: [{ id: 'O4', about: '', examined: 1, violated, excused: {}, examples }] },
    ...{ capture, faults: [], missing: [], ownEnds: 0, drainMs: 5, senderExit: 0, seconds: 90 },
  }
}
const asked = { commit: 'abc', seed: 9, minutes: 1, ordersPerSec: 10 }

test('a report says what really ran, how long, what was timed where, and how much was taken', () => {
  const report = reportOf(played({}), asked)
  for (const version of [report.versions.pg, report.versions.kafkajs]) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  expect(report.versions.postgres).toBe('18.4 (built)')
  expect(report.liveness).toMatchObject({ successTimed: 7, successLateAtGateway: 0 })
  expect(report.liveness.availability).toEqual({ callbacks: 3, atFirst: 0.33333, inTheEnd: 0.66667 })
  expect(report.first).toBeNull()
  const table = tableOf(report)
  expect(table).toContain('in a run of 1.5 minutes')
  expect(table).toContain('timed by the gateways themselves 7 of 2 heard, later than 4 s 0')
  expect(table).toMatch(/^\| crash points \| of the gateway: /m)
})

test('a failed one says how it is played again, and follows what was violated first', () => {
  const report = reportOf(played({ lost: 1 }), asked)
  expect(report.ok).toBe(false)
  expect(report.replay).toBe('npm run chaos -- --minutes 1 --seed 9 --orders-per-sec 10')
  expect(report.first).toMatchObject({ oracle: 'O4', order: 'shop/second' })
  expect(report.first?.path.filter((line) => line.startsWith('delivery '))).toHaveLength(2)
})

test('each table has its JSON beside it, and takes its older one’s place', () => {
  const page = join(dir, 'page.md')
  writeFileSync(page, 'before\n\n<!-- chaos: runs follow -->\n\nafter\n')
  for (const seconds of [90, 120]) writeReport(reportOf({ ...played({}), seconds }, asked), page)
  const text = readFileSync(page, 'utf8')
  expect(text.match(/in a run of \S+/g)).toEqual(['in a run of 2.0'])
  expect(text).toContain('[chaos-9.json](reliability/chaos-9.json)')
  expect(JSON.parse(readFileSync(join(dir, 'reliability', 'chaos-9.json'), 'utf8'))).toMatchObject({
    ...{ seed: 9, seconds: 120 },
  })
})

test('what a failed run left is not overwritten by its replay; a clean one is', () => {
  const run = join(dir, '9')
  const end = (ok: boolean) => {
    mkdirSync(run, { recursive: true })
    writeFileSync(join(run, 'report.json'), JSON.stringify({ ok }))
  }
  end(true)
  expect(keepFailed(run)).toBeUndefined()
  end(false)
  expect(keepFailed(run)).toBe(`${run}-failed-1`)
  end(false)
  expect(keepFailed(run)).toBe(`${run}-failed-2`)
  expect(existsSync(run)).toBe(false)
})

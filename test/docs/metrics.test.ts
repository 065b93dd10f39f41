import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createApiMetrics } from '../../src/api/metrics.ts'
import { createConsumerMetrics } from '../../src/consumer/metrics.ts'
import { createMetrics as createGatewayMetrics } from '../../src/gateway/metrics.ts'
import { createMetrics as createProcessorMetrics } from '../../src/processor/metrics.ts'
import { createQueryMetrics } from '../../src/reconcile/metrics.ts'
import { metricsOf, queries } from '../deploy/dashboard-queries.ts'

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

test('every metric of gateway, processor, api, reconciler and the consumer kit is on the dashboard', async () => {
  const gateway = createGatewayMetrics()
  gateway.stop()
  const others = [createProcessorMetrics(), createApiMetrics(), createQueryMetrics(), createConsumerMetrics()]
  const registries = [gateway, ...others].map(({ registry }) => registry)
  const lists = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()))
  const names = lists.flat().flatMap(({ name }) => (name.startsWith('paidonce_') ? [name] : []))
  expect(names.length).toBeGreaterThan(77)
  const shown = new Set(queries().flatMap(({ expr }) => metricsOf(expr)))
  expect(names.filter((name) => !shown.has(name))).toEqual([])
})

test('what an alert tells a person to read is a heading of docs/operations.md', () => {
  const headings = [...read('docs/operations.md').matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
  const runbooks = [...read('deploy/alerts.yml').matchAll(/^ +runbook: (.+)$/gm)].map(([, heading]) => heading)
  expect(runbooks.length).toBe([...read('deploy/alerts.yml').matchAll(/- alert:/g)].length)
  expect(runbooks.filter((heading) => !headings.includes(heading))).toEqual([])
})

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { API_SHAPE } from '../../src/api/config.ts'
import { createApiMetrics } from '../../src/api/metrics.ts'
import { REFUSALS } from '../../src/api/refusal.ts'

const text = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')

test('docs/api.md has every refusal with its status', () => {
  for (const [kind, { status }] of Object.entries(REFUSALS))
    expect(text).toMatch(new RegExp(`^\\|[^|]*\`${kind}\`[^|]*\\| ${status} \\|`, 'm'))
})

test('docs/api.md has every variable with its default', () => {
  for (const [name, schema] of Object.entries(API_SHAPE)) {
    const row = text.split('\n').find((line) => line.startsWith('| ') && line.includes(`\`${name}\``)) ?? ''
    const parsed = schema.safeParse(undefined)
    expect(row, name).toContain(parsed.success && parsed.data !== '' ? String(parsed.data ?? 'none') : '|')
  }
})

test('docs/api.md has every metric with its labels', async () => {
  for (const metric of await createApiMetrics().registry.getMetricsAsJSON())
    if (metric.name.startsWith('paidonce_')) expect(text).toMatch(new RegExp(`\`${metric.name}(\\{[a-z,]+\\})?\``))
})

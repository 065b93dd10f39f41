import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Query {
  readonly panel: string
  /** With Grafana's variables replaced by a range that a short test fills. */
  readonly expr: string
}

interface Panel {
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly targets?: readonly { readonly expr: string }[]
}

const FILE = join(import.meta.dirname, '..', '..', 'deploy', 'grafana', 'dashboards', 'paidonce.json')

export const panels = (): readonly Panel[] =>
  (JSON.parse(readFileSync(FILE, 'utf8')) as { panels: readonly Panel[] }).panels

export const queries = (): Query[] =>
  panels().flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ panel: title, expr: expr.replaceAll('$__rate_interval', '1m') })),
  )

/** The metrics that a query reads, as `/metrics` declares them: a histogram's series without their suffix. */
export function metricsOf(expr: string): string[] {
  const names = expr.match(/\b(?:paidonce|process)_\w+/g) ?? []
  return [...new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, '')))]
}

/** The labels that a query's series carry: those of its outermost grouping, without a histogram's own. */
export function labelsOf(expr: string): string[] {
  const list = /^(?:histogram_quantile\([\d.]+, )?\w+ by \(([^)]*)\)/.exec(expr)?.[1] ?? ''
  return list.split(',').flatMap((label) => (['', 'le'].includes(label.trim()) ? [] : [label.trim()]))
}

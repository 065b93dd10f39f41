import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPart } from '../../dev/parts/part.ts'
import { choosePort } from '../../dev/parts/ports.ts'
import { PROMETHEUS, requirePrograms } from '../../dev/parts/prerequisites.ts'
import { dieTogether } from '../../dev/parts/process.ts'

export interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly value: number
}

/** An alert rule as Prometheus has loaded it. */
export interface Alert {
  readonly name: string
  readonly query: string
  /** `unknown`: not evaluated yet. */
  readonly health: 'ok' | 'err' | 'unknown'
  readonly state: 'inactive' | 'pending' | 'firing'
  readonly annotations: Readonly<Record<string, string>>
}

export interface Prometheus {
  /** Evaluates a query now. @throws Error with Prometheus's own words when it refuses it */
  readonly query: (expr: string) => Promise<Series[]>
  readonly alerts: () => Promise<Alert[]>
  readonly stop: () => Promise<void>
}

/** A real Prometheus that scrapes these jobs (name → port on the loopback), and asks these rules, every second. */
export async function startPrometheus(
  jobs: Readonly<Record<string, number>>,
  ruleFiles: readonly string[] = [],
): Promise<Prometheus> {
  const [command = ''] = await requirePrograms([PROMETHEUS])
  dieTogether({ signals: false })
  const dir = mkdtempSync(join(tmpdir(), 'paidonce-prometheus-'))
  const config = join(dir, 'prometheus.yml')
  const scrapes = Object.entries(jobs).map(([name, port]) => ({
    job_name: name,
    static_configs: [{ targets: [`127.0.0.1:${port}`] }],
  }))
  const global = { scrape_interval: '1s', evaluation_interval: '1s' }
  writeFileSync(config, JSON.stringify({ global, rule_files: ruleFiles, scrape_configs: scrapes }))
  const port = await choosePort()
  const url = `http://127.0.0.1:${port}`
  const part = await startPart({
    name: 'prometheus',
    launch: {
      command,
      args: [`--config.file=${config}`, `--storage.tsdb.path=${dir}/data`, `--web.listen-address=127.0.0.1:${port}`],
      logFile: join(dir, 'prometheus.log'),
      cwd: dir,
    },
    stopSignal: 'SIGTERM',
    readyMs: 20_000,
    answers: async () => {
      const answer = await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(2_000) })
      if (!answer.ok) throw new Error(`/-/ready answered ${answer.status}`)
    },
  })
  return {
    query: async (expr) => {
      const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`)
      const body = (await answer.json()) as {
        error?: string
        data?: { result: { metric: Record<string, string>; value: [number, string] }[] }
      }
      if (body.data === undefined) throw new Error(`${expr}: ${body.error ?? answer.status}`)
      return body.data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
    },
    alerts: async () => {
      const answer = await fetch(`${url}/api/v1/rules?type=alert`)
      const { data } = (await answer.json()) as { data: { groups: { rules: Alert[] }[] } }
      return data.groups.flatMap(({ rules }) => rules)
    },
    stop: async () => {
      await part.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

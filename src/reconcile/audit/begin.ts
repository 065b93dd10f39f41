import type pg from 'pg'
import { kafkaSettings } from '../../runtime/kafka/connection.ts'
import { createTopicAdmin } from '../../runtime/kafka/topic-admin.ts'
import type { Log } from '../../runtime/log.ts'
import { INPUT_TOPIC } from '../../schemas/topics.ts'
import { beginAudit, stoppedAudit, type AuditRun, type AuditScope } from '../../store/audit-runs.ts'
import type { AuditConfig } from './config.ts'

export interface AuditWindow {
  readonly sinceMs: number
  readonly untilMs: number
}

export type Begun =
  | { readonly kind: 'run'; readonly run: AuditRun }
  | { readonly kind: 'nothing_to_resume' }
  /** The run that was stopped looked at something else; half of each would be an answer about neither. */
  | { readonly kind: 'other_scope'; readonly detail: string }

/** @param window left out: the run that was stopped goes on */
export async function beginRun(
  pool: pg.Pool,
  { actor, window }: { readonly actor: string; readonly window: AuditWindow | undefined },
  scope: AuditScope,
): Promise<Begun> {
  if (window !== undefined) return { kind: 'run', run: await beginAudit(pool, { actor, ...window, scope }) }
  const run = await stoppedAudit(pool)
  if (run === undefined) return { kind: 'nothing_to_resume' }
  const detail = difference(run, scope)
  return detail === undefined ? { kind: 'run', run } : { kind: 'other_scope', detail }
}

/** What it was asked about, in the words of whoever sets it. */
const VARIABLES = [
  ['appId', 'APP_ID'],
  ['inputTopic', 'the input topic (TOPIC_PREFIX)'],
  ['kafkaCluster', 'the cluster (KAFKA_BROKERS)'],
] as const

function difference({ id, scope: before }: AuditRun, now: AuditScope): string | undefined {
  if (before === null) return `Run ${id} was begun by an older version, which did not say what it looked at.`
  const other = VARIABLES.filter(([field]) => before[field] !== now[field])
  if (other.length === 0) return undefined
  const said = other.map(([field, variable]) => `${variable} was '${before[field]}', and is '${now[field]}'`)
  return `Run ${id}, which was stopped, looked at something else: ${said.join('; ')}.`
}

export async function scopeOf(config: AuditConfig, log: Log): Promise<AuditScope> {
  const admin = createTopicAdmin(kafkaSettings(config), log)
  try {
    const { APP_ID: appId, TOPIC_PREFIX } = config
    return { appId, inputTopic: TOPIC_PREFIX + INPUT_TOPIC, kafkaCluster: await admin.clusterId() }
  } finally {
    await admin.close()
  }
}

import type { Command } from 'commander'
import { addAnomalyClaim, addAnomalyRelease } from './anomaly-claim.ts'
import { addAnomalyList } from './anomaly-list.ts'
import { addAnomalyResolve } from './anomaly-resolve.ts'
import { addAnomalyShow } from './anomaly-show.ts'
import { addAuditList } from './audit-list.ts'
import { addAuditRun } from './audit-run.ts'
import { addBillImport } from './bill-import.ts'
import { addBillReport } from './bill-report.ts'
import { addBrakeList } from './brake-list.ts'
import { addBrakeRelease } from './brake-release.ts'
import { addBrakeSet } from './brake-set.ts'
import { addCallbackExplain } from './callback-explain.ts'
import { addCallbackVerify } from './callback-verify.ts'
import { addConfigCheck } from './config-check.ts'
import { addDlqDiscard } from './dlq-discard.ts'
import { addDlqInspect } from './dlq-inspect.ts'
import { addDlqList } from './dlq-list.ts'
import { addDlqReplay } from './dlq-replay.ts'
import { addHeldList } from './held-list.ts'
import { addInputSave } from './input-save.ts'
import { addInputSend } from './input-send.ts'
import { addLaneRebuild } from './lane-rebuild.ts'
import { addLaneResume } from './lane-resume.ts'
import { addLaneSkip } from './lane-skip.ts'
import { addLaneStatus } from './lane-status.ts'
import { addMaintenanceRun } from './maintenance-run.ts'
import { addMigrate } from './migrate.ts'
import { addOrderShow } from './order-show.ts'
import { addOrderStates } from './order-states.ts'
import { addOrderTimeline } from './order-timeline.ts'
import { addQueryList } from './query-list.ts'
import type { Run } from './run-cli.ts'
import { addSchemasRegister } from './schemas-register.ts'
import { addTokenCreate } from './token-create.ts'
import { addTokenList } from './token-list.ts'
import { addTokenRevoke } from './token-revoke.ts'
import { addTopicsCreate } from './topics-create.ts'

/** What can be typed: `paidonce <noun> <verb>`. */
export const VERBS: Readonly<
  Record<string, { readonly about: string; readonly verbs: readonly ((noun: Command, run: Run) => void)[] }>
> = {
  '': { about: '', verbs: [addMigrate] },
  anomaly: {
    about: 'what a person must look at',
    verbs: [addAnomalyClaim, addAnomalyList, addAnomalyRelease, addAnomalyResolve, addAnomalyShow],
  },
  audit: { about: 'whether Postgres and the topics say the same', verbs: [addAuditList, addAuditRun] },
  bill: { about: "providers' bills, and what they say otherwise", verbs: [addBillImport, addBillReport] },
  brake: { about: 'events that are kept back on purpose', verbs: [addBrakeList, addBrakeRelease, addBrakeSet] },
  callback: { about: 'what a provider sent', verbs: [addCallbackExplain, addCallbackVerify] },
  config: { about: 'the environment of the processes', verbs: [addConfigCheck] },
  dlq: {
    about: 'dead letters: records that could not be processed',
    verbs: [addDlqDiscard, addDlqInspect, addDlqList, addDlqReplay],
  },
  held: { about: 'facts that wait for their order or payment', verbs: [addHeldList] },
  input: { about: 'the input topic, where it has to be made anew', verbs: [addInputSave, addInputSend] },
  lane: {
    about: 'the partitions of the input topic, each with one owner',
    verbs: [addLaneRebuild, addLaneResume, addLaneSkip, addLaneStatus],
  },
  maintenance: { about: 'what keeps the tables from growing without end', verbs: [addMaintenanceRun] },
  order: { about: 'orders and what moves them', verbs: [addOrderShow, addOrderStates, addOrderTimeline] },
  query: { about: 'questions to providers that wait to be asked', verbs: [addQueryList] },
  schemas: { about: 'what the schema registry knows', verbs: [addSchemasRegister] },
  token: { about: 'who may use the api', verbs: [addTokenCreate, addTokenList, addTokenRevoke] },
  topics: { about: 'the topics in Kafka', verbs: [addTopicsCreate] },
}

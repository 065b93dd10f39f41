import type { QueryAnswer, QueryClient, QueryTarget } from '../../../providers/query.ts'
import { askPatiently, BILL_PATIENCE } from '../../ask-patiently.ts'
import type { BillFinding, FindingState } from '../finding.ts'
import { reachNothing, type BillReach } from '../crash-points.ts'
import { judgeAnswer } from './judge-answer.ts'

export type Answered = Extract<QueryAnswer, { readonly kind: 'answered' }>

export interface SettleDeps {
  /** Undefined: nobody may be asked about this merchant. */
  readonly client: QueryClient | undefined
  /** Publishes what the provider answered; resolves when it is in Kafka. */
  readonly publish: (answer: Answered) => Promise<void>
  /** Has its order's lane open an anomaly for it; resolves to the cause, undefined if no order can have it. */
  readonly raise: (finding: BillFinding) => Promise<string | undefined>
  readonly onProgress: (done: number, total: number) => void
  readonly reach?: BillReach
}

/** Each asks in turn; the client keeps the provider's limit. */
const ASKED_AT_ONCE = 8
/** So many in a row that got no answer: the provider is away, and the others need not wait for it one by one. */
const UNANSWERED_MAX = 24

/**
 * Asks the provider about each finding, and publishes what it says. A bill is no proof: it may be another day's, or
 * altered; the answer is signed, and enters by the one way that all else does, so that the order's lane decides about it
 * and opens the anomaly if a person must look.
 * @throws what publishing throws; by then nobody asks any more
 */
export async function settleFindings(findings: readonly BillFinding[], deps: SettleDeps): Promise<BillFinding[]> {
  const settled = [...findings]
  const next = settled.entries()
  const stopped = new AbortController()
  let [done, unanswered] = [0, 0]
  const work = async () => {
    for (const [at, finding] of next) {
      if (stopped.signal.aborted) return
      const isAway = unanswered >= UNANSWERED_MAX
      const { kind, finding: now } = await settle(finding, isAway ? { ...deps, client: 'away' } : deps, stopped.signal)
      if (!isAway && kind !== 'not_asked') unanswered = kind === 'unanswered' ? unanswered + 1 : 0
      settled[at] = isForAPerson(kind, now) ? await raised(now, deps) : now
      deps.onProgress((done += 1), findings.length)
    }
  }
  const workers = Array.from({ length: ASKED_AT_ONCE }, () =>
    work().catch((error: unknown) => {
      stopped.abort()
      throw error
    }),
  )
  const ends = await Promise.allSettled(workers)
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return settled
}

/** The provider says otherwise than its bill, or nobody can be asked. Who was not asked, for whatever reason, may be yet. */
const isForAPerson = (kind: Settled['kind'], { state }: BillFinding) =>
  state === 'denied' || (state === 'open' && kind === 'not_asked')

async function raised(finding: BillFinding, { raise, reach = reachNothing }: SettleDeps): Promise<BillFinding> {
  await reach('bill_answered')
  const anomaly = await raise(finding)
  await reach('bill_published')
  return anomaly === undefined ? finding : { ...finding, anomaly }
}

type Settled = { readonly kind: 'answered' | 'unanswered' | 'not_asked'; readonly finding: BillFinding }

async function settle(
  finding: BillFinding,
  {
    client,
    publish,
    reach = reachNothing,
  }: Omit<SettleDeps, 'client'> & { readonly client: QueryClient | 'away' | undefined },
  signal: AbortSignal,
): Promise<Settled> {
  const target = targetOf(finding)
  if (target === undefined) return { kind: 'not_asked', finding }
  const say = (kind: Settled['kind'], state: FindingState, what: string) => ({
    ...{ kind, finding: { ...finding, state, detail: `${finding.detail}; ${what}` } },
  })
  if (client === undefined)
    return say('not_asked', 'unconfirmed', 'nobody was asked: QUERY_KEYS_DIR has no keys for it')
  if (client === 'away')
    return say('not_asked', 'unconfirmed', 'the provider was not asked: it did not answer about those before')
  const answer = await askPatiently((ending) => client.ask(target, ending), BILL_PATIENCE, signal)
  switch (answer.kind) {
    case 'try_later':
      return say('unanswered', 'unconfirmed', `the provider could not be asked: ${answer.reason}`)
    case 'refused':
      return say('answered', 'unconfirmed', `the provider's answer was refused: ${answer.reason}`)
    case 'not_found':
      return say('answered', 'denied', 'the provider, asked about it, does not know it')
    case 'answered': {
      const { state, detail, isNews } = judgeAnswer(
        finding,
        answer.messages.flatMap(({ facts }) => facts),
      )
      await reach('bill_answered')
      if (isNews) await publish(answer)
      await reach('bill_published')
      return say('answered', state, detail)
    }
  }
}

function targetOf({ finding, what, outTradeNo, ref, paymentRef, askRef }: BillFinding): QueryTarget | undefined {
  if (outTradeNo === null || ref === null || finding === 'twice_there' || finding === 'unreadable') return undefined
  if (what === 'refund') return askRef === null ? undefined : { kind: 'refund', outTradeNo, ref: askRef }
  const transactionId = (paymentRef ?? ref).split(':')[1]
  return { kind: 'payment', outTradeNo, ...(transactionId === undefined ? {} : { transactionId }) }
}

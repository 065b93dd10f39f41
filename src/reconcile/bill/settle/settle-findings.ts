import { setTimeout as wait } from 'node:timers/promises'
import type { QueryAnswer, QueryClient, QueryTarget } from '../../../providers/query.ts'
import type { BillFinding, FindingState } from '../finding.ts'

export type Answered = Extract<QueryAnswer, { readonly kind: 'answered' }>

export interface SettleDeps {
  /** Undefined: nobody may be asked about this merchant. */
  readonly client: QueryClient | undefined
  /** Publishes what the provider answered; resolves when it is in Kafka. */
  readonly publish: (answer: Answered) => Promise<void>
  readonly onProgress: (done: number) => void
}

/** Each asks in turn; the client keeps the provider's limit. */
const ASKED_AT_ONCE = 8
const ATTEMPTS_MAX = 4
const ASK_MS_MAX = 15_000
const WAIT_MS_MAX = 10_000

/**
 * Asks the provider about each finding, and publishes what it says. A bill is no proof: it may be another day's, or
 * altered; the answer is signed, and enters by the one way that all else does, so that the order's lane decides about it
 * and opens the anomaly if a person must look.
 */
export async function settleFindings(findings: readonly BillFinding[], deps: SettleDeps): Promise<BillFinding[]> {
  const settled = [...findings]
  const next = settled.entries()
  let done = 0
  const work = async () => {
    for (const [at, finding] of next) {
      settled[at] = await settle(finding, deps)
      deps.onProgress((done += 1))
    }
  }
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, work))
  return settled
}

async function settle(finding: BillFinding, { client, publish }: SettleDeps): Promise<BillFinding> {
  const target = targetOf(finding)
  if (target === undefined) return finding
  const say = (state: FindingState, what: string) => ({ ...finding, state, detail: `${finding.detail}; ${what}` })
  if (client === undefined) return say('unconfirmed', 'nobody was asked: QUERY_KEYS_DIR has no keys for it')
  const answer = await ask(client, target)
  switch (answer.kind) {
    case 'try_later':
      return say('unconfirmed', `the provider could not be asked: ${answer.reason}`)
    case 'refused':
      return say('unconfirmed', `the provider's answer was refused: ${answer.reason}`)
    case 'not_found':
      return say('denied', 'the provider, asked about it, does not know it')
    case 'answered': {
      const facts = answer.messages.flatMap((message) => message.facts)
      const about = facts.find(({ providerRef }) => providerRef === finding.ref)
      const { here, there } = finding
      const isKnownHere =
        about !== undefined && here?.amountMinor === about.amountMinor && here.currency === about.currency
      if (isKnownHere) return say('confirmed', 'the provider, asked about it, says what is known here')
      if (facts.length === 0) return say('denied', 'the provider, asked about it, says that nothing is paid or through')
      await publish(answer)
      if (about === undefined && there !== null)
        return say('denied', 'asked about it, the provider told something else, which is published')
      return say('published', 'the provider, asked about it, confirmed it')
    }
  }
}

function targetOf({ finding, what, outTradeNo, ref, paymentRef, askRef }: BillFinding): QueryTarget | undefined {
  if (outTradeNo === null || ref === null || finding === 'twice_there' || finding === 'unreadable') return undefined
  if (what === 'refund') return askRef === null ? undefined : { kind: 'refund', outTradeNo, ref: askRef }
  const transactionId = (paymentRef ?? ref).split(':')[1]
  return { kind: 'payment', outTradeNo, ...(transactionId === undefined ? {} : { transactionId }) }
}

async function ask(client: QueryClient, target: QueryTarget): Promise<QueryAnswer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await client.ask(target, AbortSignal.timeout(ASK_MS_MAX))
    if (answer.kind !== 'try_later' || attempt === ATTEMPTS_MAX) return answer
    await wait(Math.min(answer.afterMs ?? 250 * 2 ** attempt, WAIT_MS_MAX))
  }
}

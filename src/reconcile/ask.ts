import type { QueryAnswer, QueryClient, QueryTarget } from '../providers/query.ts'
import type { Clock } from '../runtime/clock.ts'
import { describeError, type Log } from '../runtime/log.ts'
import { PAYMENT_REF } from '../store/file-queries.ts'
import { askPatiently } from './ask-patiently.ts'
import type { QueryMetrics } from './metrics.ts'
import type { Learnt } from './publish.ts'
import type { Outcome } from './schedule.ts'

/** What all providers of a merchant together had to say. */
export interface Told {
  readonly learnt: readonly Learnt[]
  readonly outcome: Outcome
  /** For people: `wechatpay: not_found; alipay: try_later timeout`. */
  readonly answer: string
  /** Not before that, as one of them said. */
  readonly afterMs: number
}

export interface AskDeps {
  readonly answerMsMax: number
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Pick<QueryMetrics, 'asked' | 'seconds'>
}

/** A refund's hint comes from WeChat Pay v2; whoever has only v3's keys asks there, it is one system of money. */
const HINTED_BY = ['wechatpay-v2', 'wechatpay']

/** Nothing says through whom an order will be paid: all that take this merchant's payments are asked. */
export function whomToAsk(
  clients: ReadonlyMap<string, QueryClient>,
  ref: string,
): readonly (readonly [string, QueryClient])[] {
  if (ref === PAYMENT_REF) return [...clients]
  const provider = HINTED_BY.find((name) => clients.has(name))
  return [...clients].filter(([name]) => name === provider)
}

export const targetOf = (outTradeNo: string, ref: string): QueryTarget =>
  ref === PAYMENT_REF ? { kind: 'payment', outTradeNo } : { kind: 'refund', outTradeNo, ref }

/** Asks all at once. Never throws: a client that does counts as one that failed. */
export async function askAll(
  merchant: string,
  clients: readonly (readonly [string, QueryClient])[],
  target: QueryTarget,
  signal: AbortSignal,
  deps: AskDeps,
): Promise<Told> {
  const answers = await Promise.all(
    clients.map(
      async ([provider, client]) => [provider, await askOne(merchant, provider, client, target, signal, deps)] as const,
    ),
  )
  const receivedAtMs = deps.clock.now().getTime()
  const learnt = answers.flatMap(([provider, answer]): Learnt[] => {
    if (answer.kind !== 'answered' || !hasFacts(answer)) return []
    const { messages, rawBody, rawHeaders } = answer
    return [{ merchant, provider, source: 'query', receivedAtMs, rawBody, rawHeaders, messages }]
  })
  const isFailed = answers.some(([, { kind }]) => kind === 'try_later' || kind === 'refused')
  // Whoever told of something else than the payment, or of another refund, has not answered for the others.
  const isDecided = isFailed ? learnt.some(isPayment) : !answers.some(([, answer]) => isUndecided(answer))
  return {
    learnt,
    outcome: learnt.length > 0 && isDecided ? 'learnt' : isFailed ? 'failed' : 'nothing',
    answer: answers.map(([provider, answer]) => `${provider}: ${wordsOf(answer)}`).join('; ') || 'nobody to ask',
    afterMs: Math.max(0, ...answers.map(([, answer]) => (answer.kind === 'try_later' ? (answer.afterMs ?? 0) : 0))),
  }
}

async function askOne(
  merchant: string,
  provider: string,
  client: QueryClient,
  target: QueryTarget,
  signal: AbortSignal,
  { answerMsMax, clock, log, metrics }: AskDeps,
): Promise<QueryAnswer> {
  const startedMs = clock.elapsedMs()
  let answer: QueryAnswer
  try {
    // Our own limit of requests a second: whoever is in flight waits for a turn, and keeps others from asking.
    const patience = { askMsMax: answerMsMax, attemptsMax: 1, allMsMax: answerMsMax }
    answer = await askPatiently((ending) => client.ask(target, ending), patience, signal, clock)
  } catch (error) {
    log.error({ provider, merchant, error: describeError(error) }, 'asking a provider threw')
    answer = { kind: 'try_later', reason: 'system_error' }
  }
  metrics.seconds.observe({ provider }, (clock.elapsedMs() - startedMs) / 1_000)
  metrics.asked.inc({ provider, outcome: outcomeOf(answer) })
  if (answer.kind === 'refused') {
    const { reason, field } = answer
    log.warn({ provider, merchant, order: target.outTradeNo, reason, field }, 'a provider cannot be asked, or believed')
  }
  return answer
}

const isPayment = ({ messages }: Learnt) =>
  messages.some(({ facts }) => facts.some(({ eventType }) => eventType === 'payment_succeeded'))
const isUndecided = (answer: QueryAnswer) => answer.kind === 'answered' && answer.isUndecided === true
const hasFacts = ({ messages }: QueryAnswer & { kind: 'answered' }) => messages.some(({ facts }) => facts.length > 0)

/** Of a fixed set: it is a metric's label. */
function outcomeOf(answer: QueryAnswer): string {
  if (answer.kind === 'answered') return hasFacts(answer) ? 'learnt' : 'nothing'
  return answer.kind === 'try_later' ? answer.reason : answer.kind
}

function wordsOf(answer: QueryAnswer): string {
  if (answer.kind === 'refused')
    return `refused ${answer.reason}${answer.field === undefined ? '' : ` ${answer.field}`}`
  return outcomeOf(answer)
}

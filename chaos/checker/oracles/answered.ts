import type { Counted, FaultLine, Sample, SentLine } from '../capture.ts'
import { nameOf, type Oracle, type Reading, type Violation } from '../reading.ts'

/** What each sender takes for yes and is to be told for no, as its documents have it (docs/providers.md names them). */
const v2 = (code: string, message: string) =>
  `text/xml <xml><return_code><![CDATA[${code}]]></return_code><return_msg><![CDATA[${message}]]></return_msg></xml>`
const told = (word: string) => ({
  success: `application/json {"${word}":true}`,
  failure: `application/json {"${word}":false}`,
})
const FORMS: Readonly<Record<string, { readonly success: string; readonly failure: string }>> = {
  wechatpay: {
    success: 'application/json {"code":"SUCCESS","message":"成功"}',
    failure: 'application/json {"code":"FAIL","message":"失败"}',
  },
  'wechatpay-v2': { success: v2('SUCCESS', 'OK'), failure: v2('FAIL', 'FAIL') },
  alipay: { success: 'text/plain success', failure: 'text/plain fail' },
  stripe: told('received'),
  'standard-webhooks': told('accepted'),
  worker: told('accepted'),
}

/** Why it took longer than allowed, if that is nobody's fault. */
type Reason = 'slow_sender' | 'fault_on_its_way' | 'stall_of_the_machine'

/** O10: answers are in time and in form. */
export const answered: Oracle = {
  id: 'O10',
  about: 'no answer later than allowed, none missing, where nothing stopped the gateway; the exact form of each answer',
  clauses: ['late_at_gateway', 'untimed', 'late_success', 'late_failure', 'unanswered', 'wrong_form'],
  check: (reading) => {
    const { sent, faults, about } = reading
    const excused: Partial<Record<Reason, number>> = {}
    const excuse = (reason: Reason) => (excused[reason] = (excused[reason] ?? 0) + 1)
    const violations = timedByGateways(reading, excuse)
    const { answerMsMax } = about.limits
    for (const line of sent) {
      const what = `${line.provider} ${nameOf(line)} at ${line.atMs} by ${line.gateway}: ${Math.round(line.latencyMs)} ms`
      const isLate = line.latencyMs > answerMsMax
      const hasForm = isInForm(line)
      if (!isLate && hasForm) continue
      const reason = reasonFor(line, line.latencyMs - answerMsMax, faults)
      if (!hasForm && !(isBare(line) && (reason !== undefined || line.defect === 'slow_head')))
        violations.push({ clause: 'wrong_form', what: `${what}, ${line.status ?? ''} ${line.answer ?? ''}` })
      if (!isLate) continue
      if (reason !== undefined) excuse(reason)
      else violations.push({ clause: CLAUSE[line.heard], what })
    }
    return { examined: sent.length, violations, excused }
  },
}

/** A gateway that is killed takes along what it counted since it was last looked at, two seconds ago. */
const TIMED_SHARE_MIN = 0.9

/**
 * On the gateways' own monotonic clocks, from the last header to the answer: no way nor sender is in it, and what a stop
 * held up is answered with failure. A gateway looks at its clock, then writes the answer, then counts it: only where it
 * got no turn in between can a success be counted as late.
 */
function timedByGateways({ samples, sent, faults }: Reading, excuse: (reason: Reason) => void): Violation[] {
  const timed = countedOf(samples, 'success_timed')
  const heard = sent.filter((line) => line.heard === 'success').length
  const total = [...timed.values()].reduce((sum, count) => sum + count, 0)
  const violations: Violation[] = []
  for (const { life, gateway, count, fromMs, untilMs } of lateOnes(samples)) {
    const hadNoTurn = faults.some(
      (one) =>
        NO_TURN.has(one.kind) &&
        (one.target === SENDERS || one.target.split(' ')[0] === gateway) &&
        one.fromMs <= untilMs &&
        one.untilMs >= fromMs,
    )
    if (hadNoTurn) excuse(STALL)
    else violations.push({ clause: 'late_at_gateway', what: `${life}: ${count} success answers after 4 s` })
  }
  if (total < heard * TIMED_SHARE_MIN)
    violations.push({ clause: 'untimed', what: `gateways timed ${total} of the ${heard} success answers heard` })
  return violations
}

/** How many more late ones each life of a gateway had counted since it was looked at before, two seconds ago. */
function lateOnes(samples: readonly Sample[]) {
  const before = new Map<string, Sample>()
  const found: { life: string; gateway: string; count: number; fromMs: number; untilMs: number }[] = []
  for (const one of samples) {
    if (one.what !== 'success_late') continue
    const life = nameOfLife(one)
    const last = before.get(life)
    const count = one.value - (last?.value ?? 0)
    if (count > 0) found.push({ life, gateway: one.name, count, fromMs: last?.atMs ?? one.atMs, untilMs: one.atMs })
    before.set(life, one)
  }
  return found
}

const nameOfLife = ({ name, pid }: Sample) => `${name} (${pid ?? '?'})`

/** What each life of a gateway had counted when it was last looked at. */
export function countedOf(samples: readonly Sample[], what: Counted): Map<string, number> {
  const counts = new Map<string, number>()
  for (const one of samples)
    if (one.what === what) counts.set(nameOfLife(one), Math.max(counts.get(nameOfLife(one)) ?? 0, one.value))
  return counts
}

const CLAUSE: Readonly<Record<SentLine['heard'], string>> = {
  ...{ success: 'late_success', failure: 'late_failure', wrong_form: 'late_success', no_answer: 'unanswered' },
}

function isInForm({ provider, heard, status, answer }: SentLine): boolean {
  if (heard === 'no_answer') return true
  const [type = '', ...words] = (answer ?? '').split(' ')
  const said = `${type.split(';')[0] ?? ''} ${words.join(' ')}`
  return heard === 'success'
    ? status === 200 && said === FORMS[provider]?.success
    : heard === 'failure' && (status ?? 0) >= 400 && said === FORMS[provider]?.failure
}

/** The server gave up waiting for the request: nobody knew yet whose form it would be. */
const isBare = ({ status, answer }: SentLine) => status === 408 && (answer ?? '').trim() === ''

/** What came meanwhile still has to be answered when it is over. */
const AFTERWARDS_MS = 1_000
const STALL = 'stall_of_the_machine'
/** Their stalls are the machine's: the gateways are on it too. */
const SENDERS = 'senders'
/** A gateway's process got no turn. */
const NO_TURN: ReadonlySet<string> = new Set([STALL, 'stop_gateway', 'limit_cpu'])

/** A fault excuses as much as it held up, a stall no more than its own length. */
function reasonFor(line: SentLine, lateMs: number, faults: readonly FaultLine[]): Reason | undefined {
  const { gateway, atMs, latencyMs, isSlow } = line
  if (isSlow === true) return 'slow_sender'
  const heldUpMs = (isStall: boolean) =>
    faults
      .filter(({ kind, hinders = [] }) => hinders.includes(gateway) && (kind === STALL) === isStall)
      .map(({ fromMs, untilMs }) => {
        const end = Math.min(untilMs + (isStall ? 0 : AFTERWARDS_MS), atMs + latencyMs)
        return Math.max(0, end - Math.max(fromMs, atMs))
      })
      .reduce((sum, ms) => sum + ms, 0)
  const byFaults = heldUpMs(false)
  if (byFaults > 0 && byFaults >= lateMs) return 'fault_on_its_way'
  const byStalls = heldUpMs(true)
  return byStalls > 0 && byFaults + byStalls >= lateMs ? 'stall_of_the_machine' : undefined
}

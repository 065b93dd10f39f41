import { expect, test } from 'vitest'
import type { Fact } from '../../src/orders/model.ts'
import {
  DETAIL_CHARS_MAX,
  IDENTITY_BYTES_MAX,
  isCurrency,
  isIdentity,
  isMinorAmount,
  isOrderNumber,
  isTimeMs,
} from '../../src/providers/limits.ts'
import type { CallbackRequest, Provider, VerifiedMessage } from '../../src/providers/provider.ts'
import { printedRandom, randomOf, type Random } from '../helpers/seed.ts'
import { lawOf, type Originals } from './fuzz-law.ts'
import { hostileBodies, mutate, mutateBody } from './mutate.ts'

export interface FuzzSubject extends Originals {
  /** `inspect` is tried on some of the requests too. `genuine` are of several kinds and orders, signed at `now`. */
  readonly provider: Pick<Provider, 'verify' | 'inspect'>
  readonly now: Date
  /** Mutated bodies that are then properly signed, so that what reads them is reached: the signature, a cipher, … */
  readonly signed?: readonly {
    readonly what: string
    readonly bodies: readonly Buffer[]
    readonly sign: (body: Buffer) => CallbackRequest
  }[]
}

const REQUESTS = 100_000
/** An RSA signature takes 1 ms and more. */
const SIGNED = 2_000
const INSPECTED_EACH = 100
const TIMEOUT_MS = 180_000

/**
 * 10^5 mutated requests: none makes the provider throw, and none is accepted as saying what its original does not say.
 * Then mutated bodies under good signatures: none throws, and what is accepted can be stored. `SEED` plays a run again.
 */
export function fuzzProvider(name: string, subject: FuzzSubject) {
  const { provider, now, genuine, expected } = subject

  test(
    `${name}: ${REQUESTS} mutated requests are refused, or say what the original said`,
    { timeout: TIMEOUT_MS },
    () => {
      expect(genuine.length).toBeGreaterThan(1)
      for (const [index, request] of genuine.entries())
        expect(provider.verify(request, now)).toEqual({ kind: 'verified', messages: expected[index] })
      const random = printedRandom(`fuzz ${name}`)
      const isLawful = lawOf(subject)
      const verdicts = new Map<string, number>()
      for (let run = 0; run < REQUESTS; run++) {
        const { request, how, origin } = mutate(random.pick(genuine), { random: oneOf(random), others: genuine })
        const verdict = tried(() => provider.verify(request, now), request, how)
        if (!isLawful(verdict, request, origin)) throw failure('was accepted as another message', request, how, verdict)
        if (run % INSPECTED_EACH === 0) inspected(provider, request, how)
        const kind = verdict.kind === 'verified' ? verdict.kind : verdict.rejection.kind
        verdicts.set(kind, (verdicts.get(kind) ?? 0) + 1)
      }
      console.log(`fuzz ${name}:`, Object.fromEntries([...verdicts].sort(([, a], [, b]) => b - a)))
      // A harness that only makes trivially bad requests would pass for ever.
      expect(verdicts.size).toBeGreaterThan(2)
    },
  )

  for (const { what, bodies, sign } of subject.signed ?? []) {
    const readOrRefused = (request: CallbackRequest) => {
      const verdict = tried(() => provider.verify(request, now), request, what)
      const wrong = verdict.kind === 'verified' ? verdict.messages.flatMap(unstorable) : []
      if (wrong.length > 0) throw failure(`was accepted with ${wrong.join(', ')}`, request, what, verdict)
    }

    test(`${name}: ${SIGNED} mutated, well signed ${what} are read or refused`, { timeout: TIMEOUT_MS }, () => {
      const random = printedRandom(`fuzz ${name}, signed ${what}`)
      const others = bodies.map((rawBody): CallbackRequest => ({ headers: {}, repeatedHeaders: [], rawBody }))
      for (let run = 0; run < SIGNED; run++) readOrRefused(sign(mutateBody(random.pick(bodies), { random, others })))
    })

    const hostile = bodies.flatMap(hostileBodies)
    if (hostile.length > 0)
      test(
        `${name}: well signed ${what} with a hostile value in any place are read or refused`,
        { timeout: TIMEOUT_MS },
        () => {
          const random = printedRandom(`fuzz ${name}, hostile ${what}`)
          for (const body of random.shuffle(hostile).slice(0, SIGNED)) readOrRefused(sign(body))
        },
      )
  }
}

/** Each request gets a generator of its own: how much one mutation draws does not change the next. */
const oneOf = (random: Random) => randomOf(random.below(2 ** 31))

function tried<T>(verify: () => T, request: CallbackRequest, how: string): T {
  try {
    return verify()
  } catch (error) {
    throw failure('made it throw', request, how, error)
  }
}

function inspected({ inspect }: FuzzSubject['provider'], request: CallbackRequest, how: string) {
  tried(
    () => {
      inspect.canonical(request)
      inspect.namedKey(request)
      inspect.signedAtSec(request)
      for (const { id } of inspect.keys) inspect.verifies(request, id)
    },
    request,
    `${how}, inspected`,
  )
}

const failure = (what: string, { headers, repeatedHeaders, rawBody }: CallbackRequest, how: string, cause: unknown) =>
  new Error(
    `A mutated request (${how}) ${what}:\n${JSON.stringify({ headers, repeatedHeaders, body: rawBody.toString('base64') })}\n${
      cause instanceof Error ? (cause.stack ?? '') : JSON.stringify(cause)
    }`,
  )

/** What in a message the gateway could not publish, or the processor not store. */
function unstorable({ outTradeNo, messageType, messageId, facts, instead }: VerifiedMessage): string[] {
  const wrong: string[] = []
  if (outTradeNo !== null && !isOrderNumber(outTradeNo)) wrong.push('outTradeNo')
  for (const text of [messageType, messageId])
    if (Buffer.byteLength(text) > IDENTITY_BYTES_MAX) wrong.push('messageType or messageId')
  if (instead?.kind === 'hint' && !isIdentity(instead.ref)) wrong.push('instead.ref')
  if (instead !== undefined && facts.length > 0) wrong.push('facts and instead')
  if (facts.length > 0 && outTradeNo === null) wrong.push('facts of no order')
  return [...wrong, ...facts.flatMap(unstorableFact)]
}

function unstorableFact(fact: Fact): string[] {
  const wrong: string[] = []
  if (!isIdentity(fact.providerRef)) wrong.push('providerRef')
  if (fact.paymentRef !== null && !isIdentity(fact.paymentRef)) wrong.push('paymentRef')
  if (!isMinorAmount(fact.amountMinor)) wrong.push('amountMinor')
  if (!isCurrency(fact.currency) && !(fact.currency === '' && fact.amountMinor === 0)) wrong.push('currency')
  if (!Number.isInteger(fact.eventTimeMs) || !isTimeMs(fact.eventTimeMs)) wrong.push('eventTimeMs')
  if (fact.detail !== null && (fact.detail.length > DETAIL_CHARS_MAX || fact.detail.includes('\0')))
    wrong.push('detail')
  return wrong
}

import type { Command } from 'commander'
import { explain } from '../providers/explain/explain.ts'
import { isDecided, type Cause, type Explanation } from '../providers/explain/explanation.ts'
import { TIME_MS_MAX, TRIES_MAX, type Bound } from '../providers/explain/search.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { systemClock } from '../runtime/clock.ts'
import { createMask } from './mask.ts'
import {
  openSavedRequest,
  takesSavedRequest,
  type OpenedRequest,
  type SavedRequestOptions,
} from './open-saved-request.ts'
import { listing, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { sayVerdict } from './say-verdict.ts'

export const addCallbackExplain = (noun: Command, run: Run) =>
  takesSavedRequest(
    noun
      .command('explain')
      .description('say why a saved HTTP request is refused: what happened to it on its way, which key signed it'),
  ).action((file: string, options: SavedRequestOptions, command: Command) =>
    run((context) => Promise.resolve(explainFile(context, file, options)), command),
  )

function explainFile({ env }: CliContext, file: string, options: SavedRequestOptions): Output {
  const mask = createMask()
  const opened = openSavedRequest(env, file, options, mask.secret)
  const { saved, provider, merchant, bound, at } = opened
  const explanation = mask.hide(
    explain(saved, { provider, merchant, bound }, othersOf(opened), at, {
      ...{ triesMax: TRIES_MAX, timeMs: TIME_MS_MAX, elapsedMs: systemClock.elapsedMs, hide: mask.hide },
    }),
  )
  const isRefused = explanation.verdict.kind === 'refused'
  const decided = isDecided(explanation)
  const json = { says: sayVerdict(explanation.verdict), ...explanation }
  return { json, text: textOf(explanation), findings: isRefused && decided, undecided: !decided }
}

/** The merchant's other providers first: their messages are the likeliest to go astray. */
function othersOf({ provider, merchant, merchants }: OpenedRequest): Bound[] {
  const names = [merchant, ...merchants.names.filter((name) => name !== merchant)]
  return names.flatMap((name) =>
    [...PROVIDERS.keys()].flatMap((other): Bound[] => {
      const bound = name === merchant && other === provider ? undefined : merchants.find(other, name)
      return bound === undefined ? [] : [{ provider: other, merchant: name, bound }]
    }),
  )
}

function textOf(explanation: Explanation): string {
  const { verdict, causes, signedBy, before, canonical, keys, hints, effort } = explanation
  const parts = [
    listing({
      ...{ verdict: sayVerdict(verdict), provider: explanation.provider, merchant: explanation.merchant },
      ...{ 'judged at': explanation.at, 'signed at': explanation.signedAt, 'names the key': explanation.named },
    }),
    ...causes.map((cause, at) => sayCause(cause, causes.length > 1 ? `cause ${at + 1}` : 'cause')),
  ]
  if (!isDecided(explanation))
    parts.push(
      `Nothing explains it: no key that we hold made this signature over anything that this request may have been${effort.complete ? '' : ' (the search was cut short)'}.`,
      ...hints,
    )
  if (before !== null && signedBy !== null)
    parts.push(
      `With that undone ${signedBy.key} of ${signedBy.merchant} (${signedBy.provider}) made the signature, and the request would be ${sayVerdict(before.verdict)}.`,
    )
  parts.push(
    sayBytes('what the signature would be over', canonical),
    ...(before === null ? [] : [sayBytes('what it is over', before.canonical)]),
    table(
      ['key', 'fingerprint', 'valid until', 'result'],
      keys.map(({ id, fingerprint, validUntil, result }) => [id, fingerprint, validUntil, result]),
    ),
    `${effort.tried} ${effort.tried === 1 ? 'form' : 'forms'} of the request tried`,
  )
  return parts.join('\n\n')
}

const sayCause = ({ fault, how, words, remedy }: Cause, name: string) =>
  listing({ [name]: fault, what: words, where: how, 'to do': remedy })

const sayBytes = (what: string, bytes: Explanation['canonical']) =>
  bytes === null
    ? `${what}: nothing, as a part of it is missing`
    : `${what} (${bytes.bytes} bytes, SHA-256 ${bytes.sha256}…)\n${bytes.text}`

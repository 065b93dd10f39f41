import type { Command } from 'commander'
import { createMask } from './mask.ts'
import { openSavedRequest, takesSavedRequest, type SavedRequestOptions } from './open-saved-request.ts'
import { isoOf, listing, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'
import { sayVerdict, sayWithoutFacts } from './say-verdict.ts'

export const addCallbackVerify = (noun: Command, run: Run) =>
  takesSavedRequest(
    noun
      .command('verify')
      .description('verify a saved HTTP request with the keys in MERCHANTS_DIR; 1 if it is refused'),
  ).action((file: string, options: SavedRequestOptions, command: Command) =>
    run((context) => Promise.resolve(verify(context, file, options)), command),
  )

function verify({ env }: CliContext, file: string, options: SavedRequestOptions): Output {
  const mask = createMask()
  const { saved, provider, merchant, bound, at } = openSavedRequest(env, file, options, mask.secret)
  const verdict = mask.hide(bound.verify(saved.request, at))
  const says = sayVerdict(verdict)
  const json = { provider, merchant, says, ...verdict }
  if (verdict.kind === 'refused') {
    const { kind, ...about } = verdict.rejection
    return { json, text: listing({ refused: kind, ...about }), findings: true }
  }
  const rows = verdict.messages.flatMap((message) => {
    const { outTradeNo, messageType, facts, instead } = message
    const of = [outTradeNo ?? '(none)', messageType]
    const ref = instead?.kind === 'hint' ? instead.ref : null
    if (facts.length === 0) return [[...of, sayWithoutFacts(message), ref, null, null, null]]
    return facts.map(({ eventType, providerRef, amountMinor, currency, eventTimeMs }) => [
      ...[...of, eventType, providerRef, amountMinor, currency, isoOf(eventTimeMs)],
    ])
  })
  const head = ['out_trade_no', 'message', 'fact', 'reference', 'amount_minor', 'currency', 'time']
  return { json, text: `${says}\n${table(head, rows)}` }
}

import type { Command } from 'commander'
import { openSavedRequest, takesSavedRequest, type SavedRequestOptions } from './open-saved-request.ts'
import { isoOf, listing, table, type Output } from './render.ts'
import type { CliContext, Run } from './run-cli.ts'

export const addCallbackVerify = (noun: Command, run: Run) =>
  takesSavedRequest(
    noun
      .command('verify')
      .description('verify a saved HTTP request with the keys in MERCHANTS_DIR; 1 if it is refused'),
  ).action((file: string, options: SavedRequestOptions, command: Command) =>
    run((context) => Promise.resolve(verify(context, file, options)), command),
  )

function verify({ env }: CliContext, file: string, options: SavedRequestOptions): Output {
  const { saved, provider, merchant, bound, at } = openSavedRequest(env, file, options)
  const verdict = bound.verify(saved.request, at)
  const json = { provider, merchant, ...verdict }
  if (verdict.kind === 'refused') {
    const { kind, ...about } = verdict.rejection
    return { json, text: listing({ refused: kind, ...about }), findings: true }
  }
  const rows = verdict.messages.flatMap(({ outTradeNo, messageType, facts }) =>
    (facts.length > 0 ? facts : [undefined]).map((fact) => [
      ...[outTradeNo ?? '(none)', messageType, fact?.eventType ?? '(kind not mapped)', fact?.providerRef],
      ...[fact?.amountMinor, fact?.currency, fact && isoOf(fact.eventTimeMs)],
    ]),
  )
  const head = ['out_trade_no', 'message', 'fact', 'reference', 'amount_minor', 'currency', 'time']
  return { json, text: `verified\n${table(head, rows)}` }
}

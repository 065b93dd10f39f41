import { FACT_KINDS, STATUSES, type Status } from './model.ts'
import { COMMAND_KINDS, ON_COMMAND } from './on-command.ts'
import { ON_FACT } from './on-fact.ts'
import type { FactCell } from './cell.ts'

const BEFORE_FACTS = `The same fact again (same kind, provider's reference, amount, currency and amount kind) is a duplicate in every
status. The same identity with another amount, currency or amount kind is an anomaly \`conflicting_fact\`. A payment
whose amount or currency differs from the order's is an anomaly \`amount_mismatch\` in every status that knows the
order. ⇄: had the facts arrived in another order, the result could be another. A worker's report before the event that
asked for it is outside of this.`

const NOTES = `1. If another order of its group is already paid: anomaly \`double_payment\` ⇄. A full refund frees the group.
2. Then its held refunds follow. If it is fully refunded by then: → refunded, and nothing is emitted at all.
3. Stock comes back with the worker's \`goods_returned\`: emit restore, once for each time that the order was shipped.
4. A merchant may accept payments that happened up to some minutes after the order was closed by the merchant or by
   expiry (\`POLICIES\`); not after the provider's own close. What counts is when the payment happened, not when its
   callback came.

A refund acts on its own payment. While that is not known, it is held, in every status; of the accepted payment, it
moves the order as the table says; of any other, it closes that payment's anomaly when all of it is refunded, and is
noted before. Refunded is the greater of the sum of the individual refunds and, over the cumulative figures, the
figure plus the individual refunds later than it (Alipay's by over 2 s); a refund that adds nothing to that is noted.

Held facts are tried in event-time order when the order or their payment appears, before anything new. At their limit
they become an anomaly \`unknown_order\` or \`refund_without_payment\` and stay held; the anomaly ends when they go.`

const AFTER_COMMANDS = `Create of an order that nobody knows: → pending. Expire runs when the clock has passed the order's expiry and its grace
and nothing that was in the topic by then is left unread. An anomaly is answered once: a second answer is 409
\`already_resolved\`, unless it is the same one by the same person. While it is claimed, anybody else's answer is 409
\`claimed\`.`

/** Both tables as Markdown; docs/order-states.md is this text. */
export function printStates(): string {
  return [
    '# What moves an order',
    'Printed by `paidonce order states` from the tables that the processor runs.',
    '## Facts',
    BEFORE_FACTS,
    table(FACT_KINDS, (status, kind) => sayFact(ON_FACT[status][kind])),
    NOTES,
    '## Commands',
    table(COMMAND_KINDS, (status, kind) => ON_COMMAND[status][kind].says),
    AFTER_COMMANDS,
  ]
    .join('\n\n')
    .concat('\n')
}

export const sayFact = ({ says, arrivalDependent }: FactCell): string => (arrivalDependent ? `${says} ⇄` : says)

function table<Kind extends string>(kinds: readonly Kind[], say: (status: Status, kind: Kind) => string): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    row(['status', ...kinds]),
    row(['---', ...kinds.map(() => '---')]),
    ...STATUSES.map((status) => row([`**${status}**`, ...kinds.map((kind) => say(status, kind))])),
  ].join('\n')
}

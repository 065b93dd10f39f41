import { NOTED, noted, raise, type FactCell } from '../src/orders/cell.ts'
import type { Outcome } from '../src/orders/decision.ts'
import { FACT_KINDS, STATUSES } from '../src/orders/model.ts'
import { COMMAND_KINDS, ON_COMMAND, type CommandKind } from '../src/orders/on-command.ts'
import { ON_FACT } from '../src/orders/on-fact.ts'
import type { OrderWork } from '../src/orders/work.ts'

/** Names of all cells of both tables: `paid × disputed`. */
export const CELLS: readonly string[] = STATUSES.flatMap((status) =>
  [...FACT_KINDS, ...COMMAND_KINDS].map((kind) => `${status} × ${kind}`),
)

const done = ({ order }: OrderWork): Outcome => ({ kind: 'done', status: order.status })
const refused = ({ order }: OrderWork): Outcome => ({
  kind: 'refused',
  status: order.status,
  refusal: { reason: 'unknown_order' },
})

/** Replaces what one cell does, in the tables of this process, by nothing; where it does nothing, by something. */
export function breakCell(name: string): void {
  for (const status of STATUSES) {
    for (const kind of FACT_KINDS) {
      if (name !== `${status} × ${kind}`) continue
      const cell: FactCell = ON_FACT[status][kind]
      const decide = cell.decide === noted.decide ? raise('unprocessable') : () => NOTED
      Object.assign(ON_FACT[status], { [kind]: { ...cell, decide } })
    }
    for (const kind of COMMAND_KINDS) {
      if (name !== `${status} × ${kind}`) continue
      const cell = ON_COMMAND[status][kind]
      Object.assign(ON_COMMAND[status], { [kind]: { ...cell, decide: instead(kind, doesNothing(cell.says)) } })
    }
  }
}

const doesNothing = (says: string) => says === 'nothing' || says === 'same answer'
const instead = (kind: CommandKind, wasNothing: boolean) =>
  kind === 'create' ? () => ({ kind: 'same' }) : wasNothing ? refused : done

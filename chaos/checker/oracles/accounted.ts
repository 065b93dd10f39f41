import type { Oracle, Violation } from '../reading.ts'

/** O14: what an operator did has its row, and every row its operator. */
export const accounted: Oracle = {
  id: 'O14',
  about: "operators' actions and rows of operator_actions are the same",
  clauses: ['action_without_row', 'row_without_action'],
  check: ({ faults, tables }) => {
    const done = counts(faults.flatMap(({ actions = [] }) => actions))
    const rows = counts(tables.operator_actions.map(({ action }) => String(action)))
    const violations: Violation[] = []
    for (const name of new Set([...done.keys(), ...rows.keys()])) {
      const [did, has] = [done.get(name) ?? 0, rows.get(name) ?? 0]
      if (did > has) violations.push({ clause: 'action_without_row', what: `${name}: done ${did}, rows ${has}` })
      if (has > did) violations.push({ clause: 'row_without_action', what: `${name}: done ${did}, rows ${has}` })
    }
    return { examined: tables.operator_actions.length, violations }
  },
}

const counts = (names: readonly string[]) =>
  new Map([...Map.groupBy(names, (name) => name)].map(([name, some]) => [name, some.length]))

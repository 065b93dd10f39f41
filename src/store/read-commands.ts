import type { Queryable } from '../runtime/postgres.ts'
import { int8s } from './bind.ts'
import { int, intOrNull, ms, rowsOf } from './statement.ts'

/** What somebody asked of an order, and what came of it. */
export interface Command {
  readonly id: number
  readonly kind: 'close' | 'resolve'
  readonly merchant: string
  readonly outTradeNo: string
  /** `pending`: its lane has not decided yet. `failed`: the lane could not decide about it. */
  readonly status: 'pending' | 'done' | 'failed'
  /** The lane's outcome; null while it is pending. */
  readonly result: unknown
  readonly createdAtMs: number
  readonly finishedAtMs: number | null
}

export type CommandRow = [
  id: unknown,
  kind: Command['kind'],
  merchant: string,
  outTradeNo: string,
  status: Command['status'],
  result: unknown,
  createdAtMs: unknown,
  finishedAtMs: unknown,
]
/** For `commands c` joined with `orders o`; read by `commandOf`. */
export const COMMAND_COLUMNS = `c.id, c.kind, o.merchant, o.out_trade_no, c.status, c.result, ${ms('c.created_at')},
  ${ms('c.finished_at')}`
export const commandOf = (row: CommandRow): Command => ({
  id: int(row[0]),
  kind: row[1],
  merchant: row[2],
  outTradeNo: row[3],
  status: row[4],
  result: row[5],
  createdAtMs: int(row[6]),
  finishedAtMs: intOrNull(row[7]),
})

const READ_COMMANDS = {
  name: 'read-commands',
  text: `select ${COMMAND_COLUMNS} from commands c join orders o on o.id = c.order_id
    where c.id = any($1::int8[]) and c.kind <> 'wake'`,
}

/** @returns those that exist, in any order. */
export async function readCommands(db: Queryable, ids: readonly number[]): Promise<Command[]> {
  return (await rowsOf<CommandRow>(db, READ_COMMANDS, [int8s(ids)])).map(commandOf)
}

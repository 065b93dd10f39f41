import type pg from 'pg'
import { noSteps, transaction, type OnStep, type TransactionStep } from '../runtime/postgres.ts'
import { findArchived } from './find-archived.ts'
import { notifyLanes } from './notify.ts'
import { COMMAND_COLUMNS, commandOf, type Command, type CommandRow } from './read-commands.ts'
import { rowsOf } from './statement.ts'

export interface CommandRequest {
  readonly kind: 'close' | 'resolve'
  readonly merchant: string
  readonly outTradeNo: string
  /** Unique per merchant, for as long as commands are kept. */
  readonly idempotencyKey: string
  /** SHA-256 of all that the key stands for: kind, order and body. */
  readonly bodyHash: Buffer
  /** JSON */
  readonly body: string
  /** The name of the token. */
  readonly actor: string
}

export type Filed =
  /** `isNew` false: the key was used before, for the very same. */
  | { readonly kind: 'filed'; readonly command: Command; readonly isNew: boolean }
  | { readonly kind: 'unknown_order' }
  | { readonly kind: 'archived' }
  | { readonly kind: 'key_reused' }

// The key share holds up no lane, only whoever would archive the order, or remove its commands, meanwhile.
const FILE_COMMAND = {
  name: 'file-command',
  text: `
insert into commands (lane, order_id, kind, merchant, idempotency_key, body_hash, body, actor)
select o.lane, o.id, $3, o.merchant, $4, $5, $6::jsonb, $7 from orders o where o.merchant = $1 and o.out_trade_no = $2 for key share of o
on conflict (merchant, idempotency_key) do nothing returning lane`,
}
const FIND_BY_KEY = {
  name: 'find-command-by-key',
  text: `select encode(c.body_hash, 'hex'), ${COMMAND_COLUMNS} from commands c join orders o on o.id = c.order_id
    where c.merchant = $1 and c.idempotency_key = $2`,
}

/** `filed`: it is inserted, its lane is not told yet. */
export type CommandStep = TransactionStep | 'filed'

/** Files a command for its order's lane, which alone decides it, and wakes the lane. Safe to call again. */
export async function fileCommand(
  pool: pg.Pool,
  appId: string,
  request: CommandRequest,
  onStep: OnStep<CommandStep> = noSteps,
): Promise<Filed> {
  const { merchant, outTradeNo, kind, idempotencyKey, bodyHash, body, actor } = request
  return transaction(
    pool,
    async (tx) => {
      const values = [merchant, outTradeNo, kind, idempotencyKey, bodyHash, body, actor]
      const filed = await rowsOf<[lane: number]>(tx, FILE_COMMAND, values)
      await onStep('filed')
      await notifyLanes(
        tx,
        appId,
        filed.map(([lane]) => lane),
      )
      type Row = [bodyHash: string | null, ...CommandRow]
      // After the insert: it also sees what another request with this key has just committed.
      const [row] = await rowsOf<Row>(tx, FIND_BY_KEY, [merchant, idempotencyKey])
      if (row === undefined)
        return (await findArchived(tx, merchant, outTradeNo)) === undefined
          ? { kind: 'unknown_order' }
          : { kind: 'archived' }
      const [storedHash, ...columns] = row
      if (storedHash !== bodyHash.toString('hex')) return { kind: 'key_reused' }
      return { kind: 'filed', command: commandOf(columns), isNew: filed.length > 0 }
    },
    onStep,
  )
}

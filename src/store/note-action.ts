import type { Transaction } from '../runtime/postgres.ts'
import type { OperatorAction } from './write-batch.ts'

/** Notes what a person did, in the transaction of its effect. A lane's own come with its other writes. */
export async function noteAction(tx: Transaction, { actor, action, target, reason }: OperatorAction): Promise<void> {
  await tx.query(`insert into operator_actions (actor, action, target, reason) values ($1, $2, $3::jsonb, $4)`, [
    ...[actor, action, target, reason],
  ])
}

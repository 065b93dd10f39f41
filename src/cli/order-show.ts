import type { Command } from 'commander'
import type pg from 'pg'
import { dayOf } from '../runtime/days.ts'
import { findArchived } from '../store/find-archived.ts'
import { findOrder, type FoundOrder } from '../store/find-order.ts'
import { orderView } from '../store/order-view.ts'
import { withDatabase } from './connect.ts'
import { CliFailure, EXIT } from './failure.ts'
import { merchantName, orderNumber } from './options.ts'
import { listing } from './render.ts'
import type { Run } from './run-cli.ts'

export const addOrderShow = (noun: Command, run: Run) =>
  noun
    .command('show')
    .description('an order as it stands')
    .argument('<merchant>', 'its merchant', merchantName)
    .argument('<out_trade_no>', 'its number', orderNumber)
    .action((merchant: string, outTradeNo: string, _options, command: Command) =>
      run(async ({ env }) => {
        const view = orderView(await withDatabase(env, (pool) => findKnown(pool, merchant, outTradeNo)))
        return { json: view, text: listing(view) }
      }, command),
    )

/** In the tables of the living, then in the archive. */
export async function findKnown(pool: pg.Pool, merchant: string, outTradeNo: string): Promise<FoundOrder> {
  const found = await findOrder(pool, merchant, outTradeNo)
  if (found !== undefined) return found
  const archived = await findArchived(pool, merchant, outTradeNo)
  if (archived?.found !== undefined) return archived.found
  if (archived !== undefined)
    throw new CliFailure(
      EXIT.findings,
      `Order ${outTradeNo} of ${merchant} was ${archived.status} when it was archived on ${dayOf(archived.archivedAtMs)}.`,
      'That month of archived_orders is not here any more: look where it was exported to.',
    )
  throw new CliFailure(
    EXIT.findings,
    `There is no order ${outTradeNo} of ${merchant}.`,
    'Neither was it created, nor did a callback name it; check the merchant and the number.',
  )
}

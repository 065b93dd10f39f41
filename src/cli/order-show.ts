import type { Command } from 'commander'
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
        const found = await withDatabase(env, (pool) => findOrder(pool, merchant, outTradeNo))
        const view = orderView(known(found, merchant, outTradeNo))
        return { json: view, text: listing(view) }
      }, command),
    )

export function known(found: FoundOrder | undefined, merchant: string, outTradeNo: string): FoundOrder {
  if (found !== undefined) return found
  throw new CliFailure(
    EXIT.findings,
    `There is no order ${outTradeNo} of ${merchant}.`,
    'Neither was it created, nor did a callback name it; check the merchant and the number.',
  )
}

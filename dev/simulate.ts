// `npm run simulate -- …`: what providers and workers send, to the gateway of `npm start`; one callback, or a whole plan.
import { join } from 'node:path'
import { systemClock } from '../src/runtime/clock.ts'
import { createLog } from '../src/runtime/log.ts'
import { readSimulatorConfig } from '../src/simulator/config.ts'
import { loadKeys, type SenderKeys } from '../src/simulator/keys.ts'
import { runPlan } from '../src/simulator/run-plan.ts'
import { ANSWER_MS_MAX, createSender } from '../src/simulator/send.ts'
import { say } from './parts/progress.ts'
import { LOCAL_DIR } from './parts/state.ts'
import { endAtHelp, usageMistake } from './parts/usage.ts'
import { signerByHand } from './simulate/by-hand.ts'
import { environmentOf, optionsIn, type Options } from './simulate/options.ts'

const USAGE = `usage: npm run -s simulate -- VERB OUT_TRADE_NO [--provider NAME] [--amount-minor N] [--currency CNY]
                              [--refund-minor N] [--refunded-minor N] [--copies N] [--forge] [--gateway URL]
       npm run -s simulate -- run --token TOKEN [--orders N] [--deliveries N] [--spread-ms N] [--again-ms N] [--seed N]
                              [--time-scale 0.01] [--providers wechatpay=0.5,…] [--stories second_payment=0.1,…]
                              [--query-port N] [--log FILE] [--gateway URL,URL] [--api URL]

  pay            a payment's callback, --copies of it at the same instant (default 1); --forge signs it wrongly
  refund         of --refund-minor (default: all); --refunded-minor: with all that went back before
  refund-fail    a refund that could not be paid out
  fail, dispute  a failed attempt; a cardholder's dispute (stripe, standard-webhooks)
  wait, finish, close   Alipay's WAIT_BUYER_PAY, TRADE_FINISHED, TRADE_CLOSED
  ship, return, short   a worker's report: the parcel has left, has come back, cannot be packed
  run            creates orders and plays them all: payments, refunds, forgeries, retries; see docs/simulator.md

NAME is wechatpay (default), wechatpay-v2, alipay, stripe or standard-webhooks. The keys are those that npm start made.`

async function main(): Promise<number> {
  endAtHelp(USAGE)
  const options = optionsIn(process.argv.slice(2))
  if (options?.verb === 'run') return run(options)
  const sign = options && signerByHand(options, keysOfStart()[0])
  if (options === undefined || sign === undefined) {
    say(USAGE)
    return 2
  }
  const gateways = options.gateway.split(',')
  const sender = createSender({
    ...{ gateways, inFlightMax: options.copies, answerMsMax: ANSWER_MS_MAX, byteMs: 0, clock: systemClock },
  })
  const answers = await sender.burst(sign.sender, sign.sign, options.copies)
  sender.close()
  for (const { status, heard, latencyMs } of answers) say(`${status ?? '---'} ${heard} in ${latencyMs.toFixed(1)} ms`)
  if (answers.some(({ heard }) => heard === 'no_answer'))
    say(`no answer from ${options.gateway}: does \`npm start\` run, and there? Its address: --gateway URL`)
  return answers.every(({ heard }) => heard === 'success') ? 0 : 1
}

async function run(options: Options): Promise<number> {
  if (options.plan['token'] === undefined && process.env['API_TOKEN'] === undefined) {
    say('run creates orders and needs --token TOKEN: the one that `npm start` printed')
    return 2
  }
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
  const config = readSimulatorConfig(environmentOf(options, SENDERS_DIR))
  return runPlan(config, keysOfStart(), createLog('simulator', config.LOG_LEVEL), stop.signal)
}

const SENDERS_DIR = join(LOCAL_DIR, 'start', 'senders')

function keysOfStart(): [SenderKeys, ...SenderKeys[]] {
  try {
    const [first, ...others] = loadKeys(SENDERS_DIR)
    if (first !== undefined) return [first, ...others]
  } catch {
    // said below
  }
  throw new Error(
    `there are no keys, or an older version made them: delete ${join(LOCAL_DIR, 'start')} and run \`npm start\` first`,
  )
}

try {
  process.exitCode = await main()
} catch (error) {
  const mistake = usageMistake(error)
  say(mistake === undefined ? (error instanceof Error ? error.message : String(error)) : `${mistake}\n${USAGE}`)
  process.exitCode = mistake === undefined ? 1 : 2
}
